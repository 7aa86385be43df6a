export type { CallEnd, CallObserver, CallWatch } from './call-observer.ts'
export type { Exposition } from './exposition.ts'
export type { GatewayStats } from './gateway-metrics.ts'
export { openGatewayTelemetry, type Telemetry } from './gateway-telemetry.ts'
