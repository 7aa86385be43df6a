import { readdirSync } from 'node:fs'
import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import {
  cutText,
  type Decision,
  type ErrorCode,
  instanceIn,
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

/** Servers may have any number of tools. All tools above this limit are counted as `other`. */
export const MAX_TOOLS = 500
const MAX_SERVERS = 200
const OTHER = 'other'

const CALL_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const DECISION_BOUNDS = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.1]

/** The metrics of calls. */
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
    help: 'Calls that were allowed and got no answer from their server.',
    labels: ['server', 'code'],
  })
  readonly #unknown = new Counters({
    name: 'sallyport_unknown_calls',
    help: 'Calls of something that no server offers.',
    labels: ['method'],
  })
  readonly #savedTokens = new Counters({
    name: 'sallyport_tokens_kept_out',
    help: 'Estimated tokens of results that were kept out of the contexts of callers.',
    labels: ['server', 'tool'],
  })
  readonly #spentTokens = new Counters({
    name: 'sallyport_isolation_tokens',
    help: 'Tokens used by models that read results for callers.',
    labels: ['server', 'tool', 'direction'],
  })
  readonly #durations = new Histograms({
    name: 'sallyport_call_duration_seconds',
    help: 'Duration of allowed calls, from arrival to answer.',
    labels: ['server'],
    bounds: CALL_BOUNDS,
  })
  readonly #upstreamDurations = new Histograms({
    name: 'sallyport_upstream_duration_seconds',
    help: 'The part of the call duration that the server took.',
    labels: ['server'],
    bounds: CALL_BOUNDS,
  })
  readonly #decisions = new Histograms({
    name: 'sallyport_decision_duration_seconds',
    help: 'Duration of decisions, without waiting for people.',
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
    return [...counted, ...timed].map((metrics) => metrics.family())
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

  /** Most calls end like the previous one, so the last counter is cached. */
  #findCount(labels: CallLabels, ending: readonly [method: string, verdict: string, outcome: string]): Count {
    const { last } = labels
    if (last && ending[0] === last.values[2] && ending[1] === last.values[3] && ending[2] === last.values[4])
      return last
    labels.last = this.#calls.withLabels([labels.server, labels.tool, ...ending])
    return labels.last
  }

  /** Also for metrics of a server that are not about a call. */
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

  /** A resource has no label: its URI is as sensitive as an argument. */
  #toolLabel(server: string, { kind, recordName }: ObservedCall['offer']): string {
    if (kind !== 'tool' && kind !== 'prompt') return ''
    const label = cleanLabel(recordName)
    return admitValue(this.#tools, `${server}\n${label}`, MAX_TOOLS) ? label : OTHER
  }
}

interface CallLabels {
  readonly server: string
  readonly tool: string
  /** Cached, so that the labels need no lookup. */
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

  constructor(metrics: CallMetrics, call: ObservedCall) {
    this.#metrics = metrics
    this.#call = call
  }

  decided({ outcome }: Decision, meant: ObservedCall): void {
    // Later decisions include the wait for people.
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

  returned(savings: TokenSavings): void {
    this.#metrics.returned(this.#call.offer, savings)
  }

  ended(end: CallEnd): void {
    const { offer, method } = this.#call
    this.#metrics.ended({ offer, method, verdict: this.#verdict ?? 'allow', end, seconds: secondsSince(this.#begunAt) })
  }
}

const secondsSince = (time: number): number => (performance.now() - time) / 1_000

/** Whether a value is known, or can be added without exceeding the limit. */
function admitValue(known: Set<string>, value: string, max: number): boolean {
  if (known.has(value)) return true
  if (known.size >= max) return false
  known.add(value)
  return true
}

/** Refusals that the decision does not show: by a server's own rules, or by a person who was asked. */
const DENIALS: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  'CALL_DENIED',
  'COUNTERPART_DIFFERS',
  'APPROVAL_REQUIRED',
  'APPROVAL_DENIED',
  'APPROVAL_EXPIRED',
])

/** Whether a call ended because it was not allowed. */
const isDenial = ({ outcome, code }: CallEnd, verdict: Decision['outcome']): boolean =>
  outcome === 'failed' && (verdict === 'deny' || DENIALS.has(code))

/** How often the lag of the event loop is sampled. A shorter interval would wake an idle process too often. */
const LAG_RESOLUTION_MS = 50
const NS_PER_SECOND = 1e9
const US_PER_SECOND = 1e6

/** Metrics of the process from the operating system and Node, read at each scrape. */
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
    const busy = counter('nodejs_eventloop_busy_seconds', 'How long the event loop was busy.', [[active / 1_000]])
    return [busy, ...this.#lagFamilies()]
  }

  /** Measuring needs a timer, so it starts with the first scrape. */
  #lagFamilies(): readonly MetricFamily[] {
    if (this.#lag === undefined) {
      this.#lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS })
      this.#lag.enable()
      return []
    }
    const lag = this.#lag
    // A reset costs two intervals, so a histogram without values is not reset.
    if (lag.count === 0) return []
    // Each value includes the timer's own interval.
    const seconds = (value: number): number => Math.max(0, value / NS_PER_SECOND - LAG_RESOLUTION_MS / 1_000)
    const [p50 = 0, p99 = 0, max = 0] = [lag.percentile(50), lag.percentile(99), lag.max].map(seconds)
    lag.reset()
    return [
      gauge('nodejs_eventloop_lag_p50_seconds', 'Delay of timers since the last scrape: median.', [[p50]]),
      gauge('nodejs_eventloop_lag_p99_seconds', 'Delay of timers since the last scrape: 99th percentile.', [[p99]]),
      gauge('nodejs_eventloop_lag_max_seconds', 'Delay of timers since the last scrape: maximum.', [[max]]),
    ]
  }
}

/** Only Linux has this folder; reading it opens one more descriptor. */
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
  /** Result of its last health check, if there was one. */
  readonly isHealthy?: boolean | undefined
  /** How many of its messages were not passed on, by reason. */
  readonly dropped?: Readonly<Record<string, number | undefined>>
}

/** The state of the gateway at a scrape. Missing members are not shown. */
export interface GatewayStats {
  readonly callsInFlight: number
  readonly sessions: number
  readonly upstreams: readonly UpstreamStats[]
  readonly auditFailures?: number
  /** Counts by kind of credential. */
  readonly credentialsRefused?: Readonly<Record<string, number>>
  readonly mode?: Mode
  readonly approvalsPending?: number
}

/** The metrics of /metrics: counted as things happen, or read at the scrape. */
export class GatewayMetrics {
  readonly calls = new CallMetrics()
  readonly #version: string
  readonly #process = new ProcessMetrics()
  readonly #restarts = new Counters({
    name: 'sallyport_upstream_restarts',
    help: 'How often a lost server was restarted.',
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
    if (event.type === 'UPSTREAM_RESTARTED') this.#restarts.add([this.calls.serverLabel(instanceIn(event))])
    // An event with `unwritten` corrects an earlier `always` answer to the same request.
    if (event.type === 'APPROVAL_ANSWERED' && event.unwritten === undefined) this.#approvals.add([event.answer])
    if (event.type === 'APPROVAL_EXPIRED') this.#approvals.add(['expired'])
  }

  expose(stats: GatewayStats, accept: string | undefined): Exposition {
    const counts = [...this.calls.families(), this.#restarts.family(), this.#approvals.family()]
    return expose([this.#buildInfo(), ...counts, ...buildFamilies(stats), ...this.#process.families()], accept)
  }

  close(): void {
    this.#process.close()
  }

  #buildInfo(): MetricFamily {
    return gauge('sallyport_build_info', 'Version of the gateway and of Node.', [
      [1, ['version', this.#version], ['node', process.version]],
    ])
  }
}

function buildFamilies(stats: GatewayStats): readonly MetricFamily[] {
  const { callsInFlight, sessions, upstreams, auditFailures, credentialsRefused, mode, approvalsPending } = stats
  const refused = Object.entries(credentialsRefused ?? {}).map(([kind, count]) => [count, ['kind', kind]] as const)
  const up = upstreams.map(({ id, isUp }) => [isUp ? 1 : 0, ['server', cleanLabel(id)]] as const)
  const modes = mode === undefined ? [] : MODES.map((name) => [name === mode ? 1 : 0, ['mode', name]] as const)
  return [
    gauge('sallyport_calls_in_flight', 'Calls in flight.', [[callsInFlight]]),
    gauge('sallyport_sessions', 'Legacy sessions over HTTP that are open.', [[sessions]]),
    gauge('sallyport_upstream_up', 'Whether a server can be called.', up),
    gauge('sallyport_upstream_healthy', 'Result of the last health check of a server.', healthValues(upstreams)),
    counter(
      'sallyport_upstream_dropped_messages',
      'Messages from servers that were not passed on.',
      droppedValues(upstreams),
    ),
    gauge('sallyport_mode', 'The mode that is in force.', modes),
    gauge('sallyport_approvals_pending', 'Calls that are waiting for approval.', optionalValue(approvalsPending)),
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
 * A name that a server chose, as it is shown in metrics and traces. It is shortened and sanitized before it is used as a
 * label: a series that is printed twice makes the whole scrape invalid.
 */
export const cleanLabel = (name: string): string => toVisibleText(cutText(name, MAX_LABEL_LENGTH))
