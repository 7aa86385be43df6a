export {
  findWriteProtection,
  isSameContent,
  removeFile,
  removeStaleTempFiles,
  replaceFile,
  temporaryName,
} from './atomic-file.ts'
export { causeCode, describeDiskError, stateUnusable, suggestDiskFix } from './disk-errors.ts'
export { FileWatch } from './file-watch.ts'
export { createPrivateFile, makeFolder, makePrivateFolder, syncFolder } from './folder.ts'
export { removeStaleWriterFiles, resolveLockPath, withLockFile } from './lock-path.ts'
export { findMissingPackage, INCOMPLETE_INSTALLATION_HINT } from './missing-package.ts'
export { readRegularFile } from './regular-file.ts'
