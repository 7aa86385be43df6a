export { findKeyFolder, hasKeyFolder, type KeyLocation, keysUnusable, openKeyFolder } from './key-folder.ts'
export { type PrivateFile, readPrivateFile } from './private-file.ts'
export { looksSealed, openSealed, plainSize, type ReadableBytes, SealBroken, sealBytes } from './sealed-bytes.ts'
export { type SessionKey, SessionKeys, type SessionKeysOptions } from './session-keys.ts'
