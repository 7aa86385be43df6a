import { MODES, type Mode, type SallyportEvent } from '@sallyport/core'
import { CallMetrics } from './call-figures.ts'
import { type Exposition, expose } from './exposition.ts'
import { cleanLabel } from './label-text.ts'
import { Counters, counter, gauge, type LabeledValue, type MetricFamily } from './metric-family.ts'
import { ProcessMetrics } from './process-figures.ts'

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
