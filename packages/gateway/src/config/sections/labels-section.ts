import { SENSITIVITIES } from '@sallyport/core'
import { DEFAULT_LABELS } from '../defaults.ts'
import type { IssueLog } from '../reading/issue-log.ts'
import type { ConfigNode } from '../reading/normalize.ts'
import { list, object, optional, type ValueOf } from '../reading/schema.ts'
import { flag, oneOf, oneOfAnyCase } from '../reading/value-schemas.ts'
import type { LabelSettings } from '../settings.ts'
import { readHostRules, type SandboxSection } from './sandbox-section.ts'

/** What can raise the label of a session by the content of a result. */
const DETECTORS = ['secrets', 'pii'] as const

export const labelsSchema = object('a mapping such as {private_from: CONFIDENTIAL}', {
  privateFrom: optional(oneOfAnyCase(SENSITIVITIES)),
  untrusted: optional(flag()),
  detect: optional(list('a list of detectors, such as [secrets, pii]', oneOf(DETECTORS))),
})

type LabelsSection = ValueOf<typeof labelsSchema>

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
