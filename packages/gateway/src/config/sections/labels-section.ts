import { SENSITIVITIES } from '@sallyport/core'
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
export const NOT_ENFORCED_SANDBOX_KEYS = ['allowUnsandboxed', 'default', 'driver', 'forwards', 'limits'] as const

export const sandboxSchema = object('a mapping such as {proxied: {allow: ["api.internal:443"]}}', {
  ...unchecked(NOT_ENFORCED_SANDBOX_KEYS),
  proxied: optional(
    object('a mapping such as {allow: ["api.internal:443"]}', {
      allow: optional(stringList('a list of hosts, such as ["api.internal:443", "*.corp.example"]')),
    }),
  ),
})

type LabelsSection = ValueOf<typeof labelsSchema>
type SandboxSection = ValueOf<typeof sandboxSchema>

/** `host`, `host:port` or `*.domain`, as people write them for a proxy. */
const HOST_RULE = /^(\*\.)?([a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(:\d{1,5})?$/i

interface Sections {
  readonly labels: LabelsSection
  readonly sandbox: SandboxSection
}

export function readLabels(
  { labels, sandbox }: Sections,
  nodeAt: (...path: string[]) => ConfigNode,
  log: IssueLog,
): LabelSettings {
  const allow = sandbox.proxied?.allow ?? []
  const node = nodeAt('sandbox', 'proxied', 'allow')
  for (const [index, rule] of allow.entries())
    if (!HOST_RULE.test(rule))
      log.error(
        node.children.get(index) ?? node,
        'expected a host, such as "api.internal", "api.internal:443" or "*.corp.example".',
      )
  const { privateFrom, untrusted, detect } = { ...DEFAULT_LABELS, ...labels }
  if (privateFrom === 'PUBLIC')
    log.error(
      nodeAt('labels', 'privateFrom'),
      'expected INTERNAL, CONFIDENTIAL or SECRET: every session is PUBLIC at first.',
    )
  return { privateFrom, untrusted, detect, allow }
}
