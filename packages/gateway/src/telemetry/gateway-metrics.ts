import { readdirSync } from 'node:fs'
import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import {
  cutText,
  type Decision,
  type ErrorCode,
  MODES,
  type Mode,
  type SallyportEvent,
  toVisibleText,
} from '@sallyport/core'
import type { CallEnd, CallObserver, CallWatch, ObservedCall, TokenSavings } from './call-observer.ts'
import { type Exposition, expose } from './exposition.ts'
import {
  type Count,
  Counters,
  counter,
  type Distribution,
  gauge,
  Histograms,
  type LabeledValue,
  type MetricFamily,
} from './metric-family.ts'

/** Servers may have as many tools as they like; what is more than this is counted together. */
export const MAX_TOOLS = 500
const MAX_SERVERS = 200
const OTHER = 'other'

const CALL_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const DECISION_BOUNDS = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.1]

/** What was counted of calls. */
class CallMetrics implements CallObserver {
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

/** A server's own rules stopped it, or somebody who was asked: the decision alone does not tell. */
const DENIALS: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  'CALL_DENIED',
  'APPROVAL_REQUIRED',
  'APPROVAL_DENIED',
  'APPROVAL_EXPIRED',
])

/** Whether a call ended because it was not allowed. */
const isDenial = ({ outcome, code }: CallEnd, verdict: Decision['outcome']): boolean =>
  outcome === 'failed' && (verdict === 'deny' || DENIALS.has(code))

/** How often the lag of the event loop is looked at, in milliseconds. More often wakes an idle process for nothing. */
const LAG_RESOLUTION_MS = 50
const NS_PER_SECOND = 1e9
const US_PER_SECOND = 1e6

/** What the operating system and Node say of this process, read when somebody asks. */
class ProcessMetrics {
  #lag: IntervalHistogram | undefined

  families(): readonly MetricFamily[] {
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed } = process.memoryUsage()
    const startedAt = performance.timeOrigin / 1_000
    return [
      counter('process_cpu_seconds', 'CPU time that the process has used.', [[(user + system) / US_PER_SECOND]]),
      gauge('process_resident_memory_bytes', 'Memory of the process that is in RAM.', [[rss]]),
      gauge('process_start_time_seconds', 'When the process started, since the epoch.', [[startedAt]]),
      ...descriptorFamilies(),
      gauge('nodejs_heap_size_used_bytes', 'Memory that JavaScript uses.', [[heapUsed]]),
      ...this.#loopFamilies(),
    ]
  }

  close(): void {
    this.#lag?.disable()
  }

  #loopFamilies(): readonly MetricFamily[] {
    const { active } = performance.eventLoopUtilization()
    const busy = counter('nodejs_eventloop_busy_seconds', 'How long the event loop was at work.', [[active / 1_000]])
    return [busy, ...this.#lagFamilies()]
  }

  /** Measuring it costs a timer, so that it begins when somebody asks for the first time. */
  #lagFamilies(): readonly MetricFamily[] {
    if (this.#lag === undefined) {
      this.#lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
      this.#lag.enable()
      return []
    }
    const lag = this.#lag
    // Beginning anew costs it two rounds: one that has seen nothing yet is left to go on.
    if (lag.count === 0) return []
    // The timer's own interval is in each value.
    const seconds = (value: number): number => Math.max(0, value / NS_PER_SECOND - LAG_RESOLUTION_MS / 1_000)
    const [p50 = 0, p99 = 0, most = 0] = [lag.percentile(50), lag.percentile(99), lag.max].map(seconds)
    lag.reset()
    return [
      gauge('nodejs_eventloop_lag_p50_seconds', 'How late timers were since the last scrape: half of them.', [[p50]]),
      gauge('nodejs_eventloop_lag_p99_seconds', 'The same: all but one in a hundred.', [[p99]]),
      gauge('nodejs_eventloop_lag_max_seconds', 'The same: the worst.', [[most]]),
    ]
  }
}

/** Only Linux has this folder; reading it opens one more. */
function descriptorFamilies(): readonly MetricFamily[] {
  try {
    const count = readdirSync('/proc/self/fd').length - 1
    return [gauge('process_open_fds', 'Open file descriptors.', [[count]])]
  } catch {
    return []
  }
}

export interface UpstreamStats {
  readonly id: string
  readonly isUp: boolean
  /** What its last health check found, if there was one. */
  readonly isHealthy?: boolean | undefined
  /** How many of its messages were not passed on, by reason. */
  readonly dropped?: Readonly<Record<string, number | undefined>>
}

/** What the gateway says of itself at the moment of a scrape. What is left out is not shown. */
export interface GatewayStats {
  readonly callsInFlight: number
  readonly sessions: number
  readonly upstreams: readonly UpstreamStats[]
  readonly auditFailures?: number
  /** By kind. */
  readonly credentialsRefused?: Readonly<Record<string, number>>
  readonly mode?: Mode
  readonly approvalsPending?: number
}

/** The figures of /metrics: counted as things happen, or read when somebody asks. */
export class GatewayMetrics {
  readonly calls = new CallMetrics()
  readonly #version: string
  readonly #process = new ProcessMetrics()
  readonly #restarts = new Counters({
    name: 'sallyport_upstream_restarts',
    help: 'How often a lost server came back.',
    labels: ['server'],
  })
  readonly #approvals = new Counters({
    name: 'sallyport_approvals',
    help: 'Requests for approval that are settled.',
    labels: ['answer'],
  })

  constructor(version: string) {
    this.#version = version
  }

  recordEvent(event: SallyportEvent): void {
    if (event.type === 'UPSTREAM_RESTARTED') this.#restarts.add([this.calls.serverLabel(event.server)])
    // One that takes an `always` back is about the same request.
    if (event.type === 'APPROVAL_ANSWERED' && event.unwritten === undefined) this.#approvals.add([event.answer])
    if (event.type === 'APPROVAL_EXPIRED') this.#approvals.add(['expired'])
  }

  expose(readings: GatewayStats, accept: string | undefined): Exposition {
    const counts = [...this.calls.families(), this.#restarts.family(), this.#approvals.family()]
    return expose([this.#buildInfo(), ...counts, ...buildFamilies(readings), ...this.#process.families()], accept)
  }

  close(): void {
    this.#process.close()
  }

  #buildInfo(): MetricFamily {
    return gauge('sallyport_build_info', 'What runs.', [[1, ['version', this.#version], ['node', process.version]]])
  }
}

function buildFamilies(readings: GatewayStats): readonly MetricFamily[] {
  const { callsInFlight, sessions, upstreams, auditFailures, credentialsRefused, mode, approvalsPending } = readings
  const refused = Object.entries(credentialsRefused ?? {}).map(([kind, count]) => [count, ['kind', kind]] as const)
  const up = upstreams.map(({ id, isUp }) => [isUp ? 1 : 0, ['server', cleanLabel(id)]] as const)
  const modes = mode === undefined ? [] : MODES.map((name) => [name === mode ? 1 : 0, ['mode', name]] as const)
  return [
    gauge('sallyport_calls_in_flight', 'Calls that are under way.', [[callsInFlight]]),
    gauge('sallyport_sessions', 'Legacy sessions over HTTP that are open.', [[sessions]]),
    gauge('sallyport_upstream_up', 'Whether a server can be called.', up),
    gauge('sallyport_upstream_healthy', 'What the last health check of a server found.', healthValues(upstreams)),
    counter(
      'sallyport_upstream_dropped_messages',
      'Messages of servers that were not passed on.',
      droppedValues(upstreams),
    ),
    gauge('sallyport_mode', 'The mode that is in force.', modes),
    gauge('sallyport_approvals_pending', 'Calls that wait for somebody to say yes.', optionalValue(approvalsPending)),
    counter('sallyport_credentials_refused', 'Credentials that were refused.', refused),
    counter('sallyport_audit_write_failures', 'Records that could not be written.', optionalValue(auditFailures)),
  ]
}

const healthValues = (upstreams: readonly UpstreamStats[]): readonly LabeledValue[] =>
  upstreams.flatMap(({ id, isHealthy }) =>
    isHealthy === undefined ? [] : [[isHealthy ? 1 : 0, ['server', cleanLabel(id)]] as const],
  )

const droppedValues = (upstreams: readonly UpstreamStats[]): readonly LabeledValue[] =>
  upstreams.flatMap(({ id, dropped = {} }) =>
    Object.entries(dropped).map(
      ([reason, count]) => [count ?? 0, ['server', cleanLabel(id)], ['reason', reason]] as const,
    ),
  )

const optionalValue = (value: number | undefined): readonly (readonly [number])[] =>
  value === undefined ? [] : [[value]]

const MAX_LABEL_LENGTH = 120

/**
 * A name that a server chose, as it stands in figures and traces. It is cut and cleaned before anything is counted under
 * it: a series that is printed twice makes a whole scrape void.
 */
export const cleanLabel = (name: string): string => toVisibleText(cutText(name, MAX_LABEL_LENGTH))
