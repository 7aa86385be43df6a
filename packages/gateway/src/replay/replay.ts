export { knownCatalog } from './known-catalog.ts'
export { Retrial } from './retrial.ts'
export { type ReplayReport, ReplayTally, type UndecidedCalls, type VerdictChange } from './tally.ts'
