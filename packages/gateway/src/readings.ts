import type { Gateway } from './gateway.ts'
import type { Readings } from './telemetry/telemetry.ts'

/** What a gateway says of itself when somebody looks at its figures. */
export function readingsOf({ fleet, gauge, governing, sessions, store, failures }: Gateway): Readings {
  const enabled = fleet
    .all()
    .map((upstream) => upstream.status())
    .filter(({ state }) => state !== 'disabled')
  return {
    callsInFlight: gauge.inFlight,
    sessions: sessions.size,
    // One that is stopped sleeps until somebody calls it.
    upstreams: enabled.map(({ id, state, dropped, health }) => ({
      id,
      isUp: state === 'ready' || state === 'stopped',
      dropped,
      isHealthy: health?.isHealthy,
    })),
    auditFailures: store.log.failures,
    credentialsRefused: failures.totals,
    mode: governing.rules.modeState().mode,
    approvalsPending: governing.approvals.pending.length,
  }
}
