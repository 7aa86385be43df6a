import type { Decision } from '@sallyport/core'
import type { CallEnd, CallObserver, CallWatch, ObservedCall, TokenSavings } from './call-observer.ts'
import { isDenial } from './denial.ts'
import { cleanLabel } from './label-text.ts'
import { type Count, Counters, type Distribution, Histograms, type MetricFamily } from './metric-family.ts'

/** Servers may have as many tools as they like; what is more than this is counted together. */
export const MAX_TOOLS = 500
const MAX_SERVERS = 200
const OTHER = 'other'

const CALL_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const DECISION_BOUNDS = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.1]

/** What was counted of calls. */
export class CallMetrics implements CallObserver {
  readonly #tools = new Set<string>()
  readonly #servers = new Set<string>()
  readonly #labels = new WeakMap<ObservedCall['offer'], CallLabels>()
  readonly #calls = new Counters({
    name: 'sallyport_calls',
    help: 'Calls that have ended.',
    labels: ['server', 'tool', 'method', 'verdict', 'outcome'],
  })
  readonly #denials = new Counters({
    name: 'sallyport_denials',
    help: 'Calls that were refused.',
    labels: ['code'],
  })
  readonly #failures = new Counters({
    name: 'sallyport_call_failures',
    help: 'Calls that were allowed and got no answer of their server.',
    labels: ['server', 'code'],
  })
  readonly #unknown = new Counters({
    name: 'sallyport_unknown_calls',
    help: 'Calls of what nobody offers.',
    labels: ['method'],
  })
  readonly #savedTokens = new Counters({
    name: 'sallyport_tokens_kept_out',
    help: 'Tokens of results that stayed out of the contexts of callers: estimates.',
    labels: ['server', 'tool'],
  })
  readonly #spentTokens = new Counters({
    name: 'sallyport_isolation_tokens',
    help: 'Tokens of models that read results for their callers.',
    labels: ['server', 'tool', 'direction'],
  })
  readonly #durations = new Histograms({
    name: 'sallyport_call_duration_seconds',
    help: 'Calls that were allowed, from coming in to being answered.',
    labels: ['server'],
    bounds: CALL_BOUNDS,
  })
  readonly #upstreamDurations = new Histograms({
    name: 'sallyport_upstream_duration_seconds',
    help: 'The part of calls that their server took.',
    labels: ['server'],
    bounds: CALL_BOUNDS,
  })
  readonly #decisions = new Histograms({
    name: 'sallyport_decision_duration_seconds',
    help: 'How long deciding took, without waiting for people.',
    labels: [],
    bounds: DECISION_BOUNDS,
  })

  #decided: Distribution | undefined

  begin(call: ObservedCall): CallWatch {
    return new CallTimer(this, call)
  }

  unknown(method: string): void {
    this.#unknown.add([method])
  }

  families(): readonly MetricFamily[] {
    const counted = [this.#calls, this.#denials, this.#failures, this.#unknown, this.#savedTokens, this.#spentTokens]
    const timed = [this.#durations, this.#upstreamDurations, this.#decisions]
    return [...counted, ...timed].map((figures) => figures.family())
  }

  decided(seconds: number): void {
    this.#decided ??= this.#decisions.withLabels([])
    this.#decided.add(seconds)
  }

  answered(offer: ObservedCall['offer'], seconds: number): void {
    const labels = this.#labelsOf(offer)
    labels.upstream ??= this.#upstreamDurations.withLabels([labels.server])
    labels.upstream.add(seconds)
  }

  returned(offer: ObservedCall['offer'], { tokensKept, tokensIn, tokensOut }: TokenSavings): void {
    const { server, tool } = this.#labelsOf(offer)
    this.#savedTokens.add([server, tool], tokensKept)
    if (tokensIn + tokensOut === 0) return
    this.#spentTokens.add([server, tool, 'in'], tokensIn)
    this.#spentTokens.add([server, tool, 'out'], tokensOut)
  }

  ended({ offer, method, verdict, end, seconds }: EndedCall): void {
    const labels = this.#labelsOf(offer)
    const wasDenied = isDenial(end, verdict)
    this.#findCount(labels, [method, verdict, wasDenied ? 'denied' : end.outcome]).count++
    if (wasDenied) return this.#denials.add([end.code ?? ''])
    if (end.outcome === 'failed') this.#failures.add([labels.server, end.code ?? ''])
    labels.durations ??= this.#durations.withLabels([labels.server])
    labels.durations.add(seconds)
  }

  /** Most calls end as the one before did. */
  #findCount(labels: CallLabels, how: readonly [method: string, verdict: string, outcome: string]): Count {
    const { last } = labels
    if (last && how[0] === last.values[2] && how[1] === last.values[3] && how[2] === last.values[4]) return last
    labels.last = this.#calls.withLabels([labels.server, labels.tool, ...how])
    return labels.last
  }

  /** Also for what concerns a server and no call of it. */
  serverLabel(server: string): string {
    const label = cleanLabel(server)
    return admitValue(this.#servers, label, MAX_SERVERS) ? label : OTHER
  }

  #labelsOf(offer: ObservedCall['offer']): CallLabels {
    const known = this.#labels.get(offer)
    if (known) return known
    const server = this.serverLabel(offer.server)
    const labels: CallLabels = { server, tool: this.#toolLabel(server, offer) }
    this.#labels.set(offer, labels)
    return labels
  }

  /** A resource has no label: its URI is as good as an argument. */
  #toolLabel(server: string, { kind, recordName }: ObservedCall['offer']): string {
    if (kind !== 'tool' && kind !== 'prompt') return ''
    const label = cleanLabel(recordName)
    return admitValue(this.#tools, `${server}\n${label}`, MAX_TOOLS) ? label : OTHER
  }
}

interface CallLabels {
  readonly server: string
  readonly tool: string
  /** What was added to before, found again without a look at the labels. */
  upstream?: Distribution
  durations?: Distribution
  last?: Count
}

interface EndedCall {
  readonly offer: ObservedCall['offer']
  readonly method: string
  readonly verdict: Decision['outcome']
  readonly end: CallEnd
  readonly seconds: number
}

class CallTimer implements CallWatch {
  readonly #metrics: CallMetrics
  readonly #begunAt = performance.now()
  #call: ObservedCall
  #sentAt = 0
  #verdict: Decision['outcome'] | undefined

  constructor(figures: CallMetrics, call: ObservedCall) {
    this.#metrics = figures
    this.#call = call
  }

  decided({ outcome }: Decision, meant: ObservedCall): void {
    // Later ones come after waiting for people.
    if (this.#verdict === undefined) this.#metrics.decided(secondsSince(this.#begunAt))
    this.#call = meant
    this.#verdict = outcome
  }

  sent(): undefined {
    this.#sentAt = performance.now()
  }

  answered(): void {
    this.#metrics.answered(this.#call.offer, secondsSince(this.#sentAt))
  }

  returned(kept: TokenSavings): void {
    this.#metrics.returned(this.#call.offer, kept)
  }

  ended(end: CallEnd): void {
    const { offer, method } = this.#call
    this.#metrics.ended({ offer, method, verdict: this.#verdict ?? 'allow', end, seconds: secondsSince(this.#begunAt) })
  }
}

const secondsSince = (moment: number): number => (performance.now() - moment) / 1_000

/** Whether a value has, or gets, a place of its own. */
function admitValue(known: Set<string>, value: string, most: number): boolean {
  if (known.has(value)) return true
  if (known.size >= most) return false
  known.add(value)
  return true
}
