export type { CallEnd, CallObserver, CallWatch } from './call-observer.ts'
export type { Exposition } from './exposition.ts'
export type { Readings } from './figures.ts'
export { openTelemetry, type Telemetry } from './open-telemetry.ts'
