import { type HostRule, parseHostRule, SENSITIVITIES } from '@sallyport/core'
import { DEFAULT_LABELS } from '../defaults.ts'
import type { IssueLog } from '../reading/issue-log.ts'
import type { ConfigNode } from '../reading/normalize.ts'
import { list, object, optional, type ValueOf } from '../reading/schema.ts'
import { flag, oneOf, oneOfAnyCase, stringList, unchecked } from '../reading/value-schemas.ts'
import type { LabelSettings } from '../settings.ts'

/** What can raise the label of a session by the content of a result. */
const DETECTORS = ['secrets', 'pii'] as const

export const labelsSchema = object('a mapping such as {private_from: CONFIDENTIAL}', {
  privateFrom: optional(oneOfAnyCase(SENSITIVITIES)),
  untrusted: optional(flag()),
  detect: optional(list('a list of detectors, such as [secrets, pii]', oneOf(DETECTORS))),
})

/** Keys of `sandbox` that ask for a protection which this version does not provide. */
export const NOT_ENFORCED_SANDBOX_KEYS = ['allowUnsandboxed', 'forwards', 'limits'] as const

export const sandboxSchema = object('a mapping such as {proxied: {allow: ["api.internal:443"]}}', {
  default: optional(oneOf(['auto', 'bubblewrap', 'none'])),
  driver: optional(oneOf(['auto', 'bubblewrap'])),
  ...unchecked(NOT_ENFORCED_SANDBOX_KEYS),
  proxied: optional(
    object('a mapping such as {allow: ["api.internal:443"]}', {
      allow: optional(stringList('a list of hosts, such as ["api.internal:443", "*.corp.example"]')),
    }),
  ),
})

type LabelsSection = ValueOf<typeof labelsSchema>
type SandboxSection = ValueOf<typeof sandboxSchema>

interface Sections {
  readonly labels: LabelsSection
  readonly sandbox: SandboxSection
}

export function readLabels(
  { labels, sandbox }: Sections,
  nodeAt: (...path: string[]) => ConfigNode,
  log: IssueLog,
): LabelSettings {
  const { privateFrom, untrusted, detect } = { ...DEFAULT_LABELS, ...labels }
  if (privateFrom === 'PUBLIC')
    log.error(
      nodeAt('labels', 'privateFrom'),
      'expected INTERNAL, CONFIDENTIAL or SECRET: every session is PUBLIC at first.',
    )
  return { privateFrom, untrusted, detect, allow: readHostRules(sandbox, nodeAt('sandbox', 'proxied', 'allow'), log) }
}

function readHostRules({ proxied }: SandboxSection, node: ConfigNode, log: IssueLog): readonly HostRule[] {
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
