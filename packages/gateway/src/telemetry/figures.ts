import { MODES, type Mode, type SallyportEvent } from '@sallyport/core'
import { CallFigures } from './call-figures.ts'
import { type Exposition, expose } from './exposition.ts'
import { labelText } from './label-text.ts'
import { Counters, counted, gauge, type MetricFamily, type Reading } from './metric-family.ts'
import { ProcessFigures } from './process-figures.ts'

export interface UpstreamReading {
  readonly id: string
  readonly isUp: boolean
  /** What its last health check found, if there was one. */
  readonly isHealthy?: boolean | undefined
  /** How many of its messages were not passed on, by reason. */
  readonly dropped?: Readonly<Record<string, number | undefined>>
}

/** What the gateway says of itself at the moment of a scrape. What is left out is not shown. */
export interface Readings {
  readonly callsInFlight: number
  readonly sessions: number
  readonly upstreams: readonly UpstreamReading[]
  readonly auditFailures?: number
  /** By kind. */
  readonly credentialsRefused?: Readonly<Record<string, number>>
  readonly mode?: Mode
  readonly approvalsPending?: number
}

/** The figures of /metrics: counted as things happen, or read when somebody asks. */
export class Figures {
  readonly calls = new CallFigures()
  readonly #version: string
  readonly #process = new ProcessFigures()
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

  happened(event: SallyportEvent): void {
    if (event.type === 'UPSTREAM_RESTARTED') this.#restarts.add([this.calls.serverLabel(event.server)])
    // One that takes an `always` back is about the same request.
    if (event.type === 'APPROVAL_ANSWERED' && event.unwritten === undefined) this.#approvals.add([event.answer])
    if (event.type === 'APPROVAL_EXPIRED') this.#approvals.add(['expired'])
  }

  expose(readings: Readings, accept: string | undefined): Exposition {
    const counts = [...this.calls.families(), this.#restarts.family(), this.#approvals.family()]
    return expose([this.#build(), ...counts, ...readFamilies(readings), ...this.#process.families()], accept)
  }

  close(): void {
    this.#process.close()
  }

  #build(): MetricFamily {
    return gauge('sallyport_build_info', 'What runs.', [[1, ['version', this.#version], ['node', process.version]]])
  }
}

function readFamilies(readings: Readings): readonly MetricFamily[] {
  const { callsInFlight, sessions, upstreams, auditFailures, credentialsRefused, mode, approvalsPending } = readings
  const refused = Object.entries(credentialsRefused ?? {}).map(([kind, count]) => [count, ['kind', kind]] as const)
  const up = upstreams.map(({ id, isUp }) => [isUp ? 1 : 0, ['server', labelText(id)]] as const)
  const modes = mode === undefined ? [] : MODES.map((name) => [name === mode ? 1 : 0, ['mode', name]] as const)
  return [
    gauge('sallyport_calls_in_flight', 'Calls that are under way.', [[callsInFlight]]),
    gauge('sallyport_sessions', 'Legacy sessions over HTTP that are open.', [[sessions]]),
    gauge('sallyport_upstream_up', 'Whether a server can be called.', up),
    gauge('sallyport_upstream_healthy', 'What the last health check of a server found.', healthOf(upstreams)),
    counted(
      'sallyport_upstream_dropped_messages',
      'Messages of servers that were not passed on.',
      droppedOf(upstreams),
    ),
    gauge('sallyport_mode', 'The mode that is in force.', modes),
    gauge('sallyport_approvals_pending', 'Calls that wait for somebody to say yes.', given(approvalsPending)),
    counted('sallyport_credentials_refused', 'Credentials that were refused.', refused),
    counted('sallyport_audit_write_failures', 'Records that could not be written.', given(auditFailures)),
  ]
}

const healthOf = (upstreams: readonly UpstreamReading[]): readonly Reading[] =>
  upstreams.flatMap(({ id, isHealthy }) =>
    isHealthy === undefined ? [] : [[isHealthy ? 1 : 0, ['server', labelText(id)]] as const],
  )

const droppedOf = (upstreams: readonly UpstreamReading[]): readonly Reading[] =>
  upstreams.flatMap(({ id, dropped = {} }) =>
    Object.entries(dropped).map(
      ([reason, count]) => [count ?? 0, ['server', labelText(id)], ['reason', reason]] as const,
    ),
  )

const given = (value: number | undefined): readonly (readonly [number])[] => (value === undefined ? [] : [[value]])
