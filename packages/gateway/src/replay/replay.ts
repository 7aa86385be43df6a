export { loadStoredCatalog } from './known-catalog.ts'
export { CallReplayer } from './retrial.ts'
export { type ReplayReport, ReplayTally, type UndecidedCalls, type VerdictChange } from './tally.ts'
