import { createHash } from 'node:crypto'
import type { LoggedEvent, RuleSource, StepName, Verdict } from '@sallyport/core'
import type { ReplayedDecision } from './call-replayer.ts'
import { type DecisionRecord, type RecordedCall, readRecordedCall } from './recorded-call.ts'

type Outcome = Verdict['outcome']

/** Calls of one tool whose decision would change, all by the same rule. */
export interface VerdictChange {
  readonly tool: string
  readonly from: Outcome
  readonly to: Outcome
  /** The reason for the first of these calls. */
  readonly reason: string
  readonly step?: StepName | undefined
  readonly rule?: RuleSource | undefined
  readonly calls: number
  /** The ids of some of these calls. */
  readonly examples: readonly string[]
}

/** Calls of one tool that cannot be decided. */
export interface UndecidedCalls extends Pick<VerdictChange, 'tool' | 'reason' | 'calls' | 'examples'> {}

export interface ReplayReport {
  readonly calls: number
  readonly same: number
  readonly changed: number
  readonly undecided: number
  readonly changes: readonly VerdictChange[]
  readonly undecidedCalls: readonly UndecidedCalls[]
}

const DECIDED_METHODS = new Set(['tools/call', 'resources/read', 'prompts/get'])
const MAX_EXAMPLES = 3
/** Decisions in the cache, by a digest of everything they depend on. */
const MAX_CACHED = 100_000

interface Group {
  calls: number
  readonly examples: string[]
}

/** Reads records in their order, decides each call again, and counts the results. */
export class ReplayTally {
  readonly #decide: (recorded: RecordedCall) => Promise<ReplayedDecision>
  readonly #cache = new Map<string, ReplayedDecision>()
  /** Calls that were allowed and have not ended: rules may have changed before they were sent. */
  readonly #open = new Map<string, DecisionRecord>()
  readonly #changes = new Map<string, Omit<VerdictChange, 'calls' | 'examples'> & Group>()
  readonly #undecided = new Map<string, Pick<VerdictChange, 'tool' | 'reason'> & Group>()
  #same = 0

  constructor(decide: (recorded: RecordedCall) => Promise<ReplayedDecision>) {
    this.#decide = decide
  }

  async addEvent(event: LoggedEvent): Promise<void> {
    if (event.type === 'TOOL_CALL_STARTED') return void this.#open.set(event.call_id, event)
    if (event.type === 'POLICY_DENIED') return this.#settle(event)
    if (event.type !== 'TOOL_CALL_COMPLETED' && event.type !== 'TOOL_CALL_FAILED') return
    const started = this.#open.get(event.call_id)
    if (started) await this.#settle(started)
  }

  async report(): Promise<ReplayReport> {
    for (const record of this.#open.values()) await this.#settle(record)
    const changes = [...this.#changes.values()].sort(byCalls)
    const undecidedCalls = [...this.#undecided.values()].sort(byCalls)
    const [changed, undecided] = [sum(changes), sum(undecidedCalls)]
    return { calls: this.#same + changed + undecided, same: this.#same, changed, undecided, changes, undecidedCalls }
  }

  async #settle(record: DecisionRecord): Promise<void> {
    this.#open.delete(record.call_id)
    if (!DECIDED_METHODS.has(record.method) || !isComplete(record)) return
    const recorded = readRecordedCall(record)
    this.#count(recorded, await this.#replay(recorded))
  }

  /** Uses the cache first, since most calls repeat an earlier one. */
  async #replay(recorded: RecordedCall): Promise<ReplayedDecision> {
    const key = decisionKey(recorded)
    const cached = this.#cache.get(key)
    if (cached) return cached
    const replayed = await this.#decide(recorded)
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear()
    this.#cache.set(key, replayed)
    return replayed
  }

  #count({ toolName: tool, outcome: from, callId }: RecordedCall, replayed: ReplayedDecision): void {
    const { reason } = replayed
    if (replayed.outcome === from) this.#same++
    else if (replayed.outcome === 'undecided')
      add(this.#undecided, { key: [tool, reason], kind: { tool, reason }, callId })
    else {
      const { outcome: to, step, rule } = replayed
      const kind = { tool, from, to, reason, step, rule }
      add(this.#changes, { key: [tool, from, to, step, rule], kind, callId })
    }
  }
}

/** Checks the fields: the log may come from another version or be damaged. */
const isComplete = ({ tool_name, server, agent, profile }: DecisionRecord): boolean =>
  [tool_name, server, agent, profile].every((field) => typeof field === 'string')

interface Counted<Kind> {
  readonly key: readonly unknown[]
  readonly kind: Kind
  readonly callId: string
}

function add<Kind extends object>(groups: Map<string, Kind & Group>, { key, kind, callId }: Counted<Kind>): void {
  const name = JSON.stringify(key)
  const group = groups.get(name) ?? { ...kind, calls: 0, examples: [] }
  group.calls++
  if (group.examples.length < MAX_EXAMPLES) group.examples.push(callId)
  groups.set(name, group)
}

function decisionKey(call: RecordedCall): string {
  const { server, method, toolName, principal, mode, steps, error } = call
  const earlier = [steps.validate, steps.arguments, steps.limits, error]
  const all = [server, method, toolName, principal.agent, principal.profile, mode, earlier, call.arguments]
  return createHash('sha256').update(JSON.stringify(all)).digest('base64url')
}

const byCalls = (a: Group, b: Group): number => b.calls - a.calls

const sum = (groups: readonly Group[]): number => groups.reduce((total, { calls }) => total + calls, 0)
