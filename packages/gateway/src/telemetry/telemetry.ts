export type { CallEnd, CallObserver, CallWatch } from './call-observer.ts'
export type { Exposition } from './exposition.ts'
export type { GatewayStats } from './figures.ts'
export { openGatewayTelemetry, type Telemetry } from './open-telemetry.ts'
