export { type Exit, type GracePeriods, openProcessGroup, type ProcessGroup } from './process-group.ts'
export { addMark, createMark, MARK_VARIABLE } from './process-mark.ts'
export { sweepProcesses } from './process-sweep.ts'
export { openWatchdog, type Watchdog } from './watchdog.ts'
