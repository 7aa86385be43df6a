import type { Gateway } from './gateway.ts'
import type { GatewayStats } from './telemetry/telemetry.ts'

/** What a gateway says of itself when somebody looks at its figures. */
export function collectStats({ fleet, gauge, governance, sessions, store, failures }: Gateway): GatewayStats {
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
    mode: governance.rules.modeState().mode,
    approvalsPending: governance.approvals.pending.length,
  }
}
