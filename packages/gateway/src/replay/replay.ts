export { CallReplayer } from './call-replayer.ts'
export { type DecisionRecord, readRecordedCall } from './recorded-call.ts'
export { type ReplayReport, ReplayTally, type UndecidedCalls, type VerdictChange } from './replay-tally.ts'
export { loadStoredCatalog } from './stored-catalog.ts'
