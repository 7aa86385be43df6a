import { type HostRule, parseHostRule } from '@sallyport/core'
import { DEFAULT_SANDBOX } from '../defaults.ts'
import type { IssueLog } from '../reading/issue-log.ts'
import type { ConfigNode } from '../reading/normalize.ts'
import { object, optional, type ValueOf } from '../reading/schema.ts'
import { byteSize, integer, oneOf, stringList, unchecked } from '../reading/value-schemas.ts'
import type { SandboxSettings } from '../settings.ts'

/** Keys of `sandbox` that ask for a protection which this version does not provide. */
export const NOT_ENFORCED_SANDBOX_KEYS = ['allowUnsandboxed', 'forwards'] as const

/** What can be limited for each process. */
const PROCESS_LIMITS = {
  memory: optional(byteSize('64MB', '1TB')),
  processes: optional(integer(8, 100_000)),
  temporaryFiles: optional(byteSize('1MB', '1TB')),
} as const

/** Of one server. */
export const processLimitsSchema = object('a mapping such as {memory: 1GB, processes: 100}', PROCESS_LIMITS)

export const sandboxSchema = object('a mapping such as {proxied: {allow: ["api.internal:443"]}}', {
  default: optional(oneOf(['auto', 'bubblewrap', 'docker', 'podman', 'none'])),
  driver: optional(oneOf(['auto', 'bubblewrap', 'docker', 'podman'])),
  workspaces: optional(oneOf(['memory', 'disk'])),
  limits: optional(
    object('a mapping such as {memory: 1GB, workspace: 100MB}', {
      ...PROCESS_LIMITS,
      workspace: optional(byteSize('1MB', '1TB')),
    }),
  ),
  ...unchecked(NOT_ENFORCED_SANDBOX_KEYS),
  proxied: optional(
    object('a mapping such as {allow: ["api.internal:443"]}', {
      allow: optional(stringList('a list of hosts, such as ["api.internal:443", "*.corp.example"]')),
    }),
  ),
})

export type SandboxSection = ValueOf<typeof sandboxSchema>

export function readSandboxSettings({ workspaces, limits }: SandboxSection): SandboxSettings {
  return {
    workspaces: workspaces ?? DEFAULT_SANDBOX.workspaces,
    limits: { ...DEFAULT_SANDBOX.limits, ...limits },
  }
}

/** The hosts that private data may reach. */
export function readHostRules({ proxied }: SandboxSection, node: ConfigNode, log: IssueLog): readonly HostRule[] {
  return (proxied?.allow ?? []).flatMap((written, index) => {
    const rule = parseHostRule(written)
    if (rule !== undefined) return [rule]
    log.error(
      node.children.get(index) ?? node,
      'expected a host, such as "api.internal", "api.internal:443", "*.corp.example" or "10.0.0.7:5432".',
    )
    return []
  })
}
