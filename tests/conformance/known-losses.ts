import type { Loss } from './check.ts'

/** A loss that is understood and accepted. */
export interface KnownLoss {
  /** Legs whose name contains all of these words. */
  readonly leg: string
  readonly scenario: string
  /** All checks of the scenario, if none are named. */
  readonly checks?: readonly string[]
  readonly reason: string
  /** It depends on the speed of the machine: sometimes nothing is lost. */
  readonly isOccasional?: boolean
}

const NO_NAMES =
  'A legacy server pushes its questions without names, so the gateway makes some up: a client cannot know them before.'
const NO_SUCH_ERROR =
  'A legacy server cannot report a missing capability: it learns that the client cannot be asked, and its own error is passed on.'
const OWN_PROCESS =
  'A legacy server on stdio that asks its clients runs once for each of them: what one process changes, no other has.'
const OWN_SESSION =
  'A server of the SDK has a server for each session: what one session announces, the first connection, whose lists modern clients see, does not.'
const CANNOT_PUSH =
  'Over a modern connection a server cannot push a question: the SDK refuses to, whatever the gateway does. This entry says `era: modern`.'
const NO_TASKS =
  'The legacy era has no tasks of this kind: a server that speaks nothing else works while the client waits.'
const STAYS_CONNECTED =
  'The gateway comes back to a server that hangs up, and keeps its own client connected meanwhile.'
const SLOW_START =
  'Each call of a modern client that can be asked gets a process of a legacy server on stdio. The suite waits 600 ms, and a server of the SDK needs about as long to start.'

export const KNOWN_LOSSES: readonly KnownLoss[] = [
  {
    leg: '2025-11-25 server',
    scenario: 'server-sse-polling',
    checks: ['server-sse-disconnect-resume'],
    reason: STAYS_CONNECTED,
  },
  {
    leg: '2026-07-28 server bridged',
    scenario: 'input-required-result-basic-elicitation',
    checks: ['sep-2322-elicitation-incomplete', 'sep-2322-elicitation-complete'],
    reason: NO_NAMES,
  },
  {
    leg: '2026-07-28 server bridged',
    scenario: 'input-required-result-ignore-extra-params',
    checks: ['sep-2322-ignore-unexpected-params'],
    reason: NO_NAMES,
  },
  {
    leg: '2026-07-28 server bridged',
    scenario: 'server-stateless',
    checks: ['sep-2575-server-rejects-undeclared-capability', 'sep-2575-missing-capability-http-400'],
    reason: NO_SUCH_ERROR,
  },
  ...['elicitation-sep1034-defaults', 'elicitation-sep1330-enums', 'tools-call-elicitation', 'tools-call-sampling'].map(
    (scenario) => ({ leg: '2025-11-25 server sdk bridged', scenario, reason: CANNOT_PUSH }),
  ),
  {
    leg: '2026-07-28 server sdk http bridged',
    scenario: 'server-stateless',
    checks: [
      'sep-2575-server-sends-prompts-list-changed-on-subscription',
      'sep-2575-server-sends-tools-list-changed-on-subscription',
    ],
    reason: OWN_SESSION,
  },
  {
    leg: '2026-07-28 server stdio bridged',
    scenario: 'server-stateless',
    checks: [
      'sep-2575-server-sends-prompts-list-changed-on-subscription',
      'sep-2575-server-sends-tools-list-changed-on-subscription',
    ],
    reason: OWN_PROCESS,
  },
  {
    leg: '2026-07-28 server sdk stdio bridged',
    scenario: 'server-stateless',
    checks: ['sep-2575-http-server-no-independent-requests-on-stream', 'sep-2575-server-no-log-without-loglevel'],
    reason: SLOW_START,
    isOccasional: true,
  },
  ...[
    'tasks-capability-negotiation',
    'tasks-dispatch-and-envelope',
    'tasks-lifecycle',
    'tasks-mrtr-composition',
    'tasks-mrtr-input',
    'tasks-request-headers',
    'tasks-request-state-removal',
    'tasks-required-task-error',
    'tasks-wire-fields',
  ].map((scenario) => ({ leg: '2026-07-28 server own bridged', scenario, reason: NO_TASKS })),
]

/** Why a loss is accepted. A required check can only be accepted as lost if the eras differ. */
export function excuseOf(leg: string, loss: Loss, known: readonly KnownLoss[] = KNOWN_LOSSES): string | undefined {
  if (loss.isScored && !leg.split(' ').includes('bridged')) return undefined
  return known.find((entry) => covers(entry, leg, loss))?.reason
}

/** Entries without a loss: whoever fixed it removes them. */
export function staleLosses(
  losses: ReadonlyMap<string, readonly Loss[]>,
  known: readonly KnownLoss[] = KNOWN_LOSSES,
): readonly KnownLoss[] {
  const steady = known.filter(({ isOccasional }) => !isOccasional)
  return steady.filter((entry) => ![...losses].some(([leg, lost]) => lost.some((loss) => covers(entry, leg, loss))))
}

function covers({ leg: words, scenario, checks }: KnownLoss, leg: string, loss: Loss): boolean {
  if (!words.split(' ').every((word) => leg.split(' ').includes(word))) return false
  return loss.scenario === scenario && (checks?.includes(loss.id) ?? true)
}
