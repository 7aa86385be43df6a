export { removeFile, replaceFile, sweepLeftovers, temporaryName } from './atomic-file.ts'
export { causeCode, diskFix, diskReason, stateUnusable } from './disk-trouble.ts'
export { createPrivateFile, makeFolder, makePrivateFolder, syncFolder } from './folder.ts'
