export { removeFile, replaceFile, sweepLeftovers } from './atomic-file.ts'
export { causeCode, diskFix, diskReason, stateUnusable } from './disk-trouble.ts'
export { createPrivateFile, makeFolder, makePrivateFolder, syncFolder } from './folder.ts'
