export type { EgressDecision, EgressStats } from './egress-control.ts'
export { type EgressOptions, type EgressProxy, openEgressProxy } from './egress-proxy.ts'
