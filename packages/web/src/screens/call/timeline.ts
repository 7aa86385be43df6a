import type { EventView } from '../../../../gateway/src/serve/api/api.ts'

type Decided = Extract<EventView, { type: 'TOOL_CALL_STARTED' | 'POLICY_DENIED' }>

/** Who had the call at a time. */
type Holder = 'gateway' | 'person' | 'server'

/** A part of the time of a call. */
export interface Stage {
  readonly id: 'decide' | 'wait' | 'send' | 'answer' | 'return'
  readonly holder: Holder
  readonly title: string
  readonly detail: string
  /** From the moment in which the call came in, in milliseconds. */
  readonly at: number
  readonly ms: number
}

export interface Timeline {
  readonly stages: readonly Stage[]
  readonly total: number
  /** How long each of them had the call; whoever never had it is missing. */
  readonly shares: readonly { readonly holder: Holder; readonly ms: number }[]
}

const isDecided = (record: EventView): record is Decided =>
  record.type === 'TOOL_CALL_STARTED' || record.type === 'POLICY_DENIED'

export const findDecision = (records: readonly EventView[]): Decided | undefined => records.findLast(isDecided)

const find = <Type extends EventView['type']>(records: readonly EventView[], ...types: readonly Type[]) =>
  records.findLast((record): record is Extract<EventView, { type: Type }> => types.some((type) => type === record.type))

/** Where the time of a call went, as far as its records say. Those of older gateways say less; of unknown tools, nothing. */
export function buildTimeline(records: readonly EventView[]): Timeline {
  const decided = findDecision(records)
  const end = find(records, 'TOOL_CALL_COMPLETED', 'TOOL_CALL_FAILED')
  const stages: Stage[] = []
  let at = 0
  const add = (stage: Omit<Stage, 'at'>): void => {
    stages.push({ ...stage, at })
    at += stage.ms
  }
  if (decided?.decided_ms !== undefined)
    add({ id: 'decide', holder: 'gateway', title: 'decide', detail: 'all rules', ms: decided.decided_ms })
  const wait = findWait(records)
  if (wait) add(wait)
  if (end?.server_ms !== undefined) {
    const sentAt = at
    add({ id: 'send', holder: 'server', title: 'run', detail: `sent to ${end.server}`, ms: end.server_ms })
    for (const stage of findQuestions(records, sentAt, end.server_ms)) stages.push(stage)
    const ms = Math.max(0, end.latency_ms - end.server_ms)
    add({ id: 'return', holder: 'gateway', title: 'return', detail: describeReturn(end), ms })
  } else if (end !== undefined && decided !== undefined) add({ ...UNKNOWN_SHARE, ms: end.latency_ms })
  return { stages, total: at, shares: sumShares(stages) }
}

const UNKNOWN_SHARE = { id: 'send', holder: 'server', title: 'run', detail: 'sent, answered and recorded' } as const

function findWait(records: readonly EventView[]): Omit<Stage, 'at'> | undefined {
  const asked = find(records, 'APPROVAL_REQUESTED')
  const ended = find(records, 'APPROVAL_ANSWERED', 'APPROVAL_EXPIRED')
  if (asked === undefined || ended === undefined || asked.for_private_data) return undefined
  const detail = ended.type === 'APPROVAL_ANSWERED' ? describeAnswer(ended) : ended.reason
  return { id: 'wait', holder: 'person', title: 'ask', detail, ms: Date.parse(ended.time) - Date.parse(asked.time) }
}

const ANSWERS = {
  once: 'approved once',
  session: 'approved for the session',
  always: 'approved always',
  deny: 'denied',
}

const describeAnswer = ({ by, via, answer, why }: Extract<EventView, { type: 'APPROVAL_ANSWERED' }>): string =>
  `${ANSWERS[answer]} by ${by} (${via})${why === undefined ? '' : `: ${why}`}`

/** What the server asked the client meanwhile. Its records have times in milliseconds. */
function findQuestions(records: readonly EventView[], sentAt: number, serverMs: number): readonly Stage[] {
  const started = find(records, 'TOOL_CALL_STARTED')
  const answers = records.filter((record) => record.type === 'CLIENT_ANSWERED')
  return answers.map(({ time, method, success, latency_ms: ms }) => {
    const until = Date.parse(time) - Date.parse(started?.time ?? time)
    const at = sentAt + Math.min(Math.max(0, until - ms), serverMs)
    const detail = `${method}, ${success ? 'answered' : 'refused'}`
    return { id: 'answer', holder: 'person', title: 'client', detail, at, ms }
  })
}

function describeReturn(end: Extract<EventView, { type: 'TOOL_CALL_COMPLETED' | 'TOOL_CALL_FAILED' }>): string {
  if (end.returned === undefined) return 'searched, and passed on as it is'
  return end.returned.strategy === 'shaped' ? 'searched, stored and shortened' : `isolated: ${end.returned.strategy}`
}

function sumShares(stages: readonly Stage[]): Timeline['shares'] {
  const holders = ['gateway', 'person', 'server'] as const
  // What a client was asked is a part of the time of the server.
  const own = stages.filter(({ id }) => id !== 'answer')
  return holders
    .map((holder) => {
      const mine = own.filter((stage) => stage.holder === holder)
      return { holder, ms: mine.reduce((sum, { ms }) => sum + ms, 0), count: mine.length }
    })
    .filter(({ count }) => count > 0)
    .map(({ holder, ms }) => ({ holder, ms }))
}

/** A bar of the waterfall, in percent of its width. */
export interface Bar {
  readonly x: number
  readonly width: number
  /** It is longer than it is drawn. */
  readonly isCut: boolean
}

const MIN_WIDTH = 1
/** A person takes a thousand times as long as everything else, which would be invisible beside. */
const MAX_WAIT_SHARE = 0.45

export function drawBars({ stages }: Pick<Timeline, 'stages'>): readonly Bar[] {
  const wait = stages.find(({ id }) => id === 'wait')
  const own = stages.filter(({ id }) => id !== 'answer').reduce((sum, { ms }) => sum + ms, 0)
  const others = own - (wait?.ms ?? 0)
  const maxWait = (others * MAX_WAIT_SHARE) / (1 - MAX_WAIT_SHARE)
  const isCut = wait !== undefined && wait.ms > maxWait && others > 0
  const saved = isCut ? wait.ms - maxWait : 0
  const total = Math.max(own - saved, Number.EPSILON)
  return stages.map((stage) => {
    const isWait = stage === wait && isCut
    const at = wait !== undefined && stage.at > wait.at ? stage.at - saved : stage.at
    const width = Math.max(MIN_WIDTH, ((isWait ? maxWait : stage.ms) / total) * 100)
    return { x: Math.min((at / total) * 100, 100 - Math.min(width, 100)), width: Math.min(width, 100), isCut: isWait }
  })
}
