import { createRequire } from 'node:module'
import { causeCode, findMissingPackage, INCOMPLETE_INSTALLATION_HINT } from '../disk/disk.ts'

type Value = string | number | Uint8Array | null

/** The few parts of libsql that we use. It returns numbers as JavaScript numbers. */
export interface Statement {
  run(...values: readonly Value[]): unknown
  get(...values: readonly Value[]): unknown
  all(...values: readonly Value[]): readonly unknown[]
}

export interface Sqlite {
  readonly inTransaction: boolean
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

/** The type of a blob that was read: one by its documentation, the other by its code. */
export type Blob = ArrayBuffer | Uint8Array

/** Without a copy: a stored catalog may have megabytes, and is read while a client waits for the first list. */
export function decodeBlob(blob: Blob): string {
  const bytes = ArrayBuffer.isView(blob)
    ? Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength)
    : Buffer.from(blob)
  // A decoder would make a string with two bytes for each character, which is slower, also to parse.
  return bytes.toString('utf8')
}

type SqliteConstructor = new (path: string) => Sqlite

let loaded: SqliteConstructor | undefined

/** The binding, loaded on first use; `undefined` if it cannot be loaded. */
export function loadSqlite(): SqliteConstructor | undefined {
  try {
    loaded ??= requireSqlite()
    return loaded
  } catch {
    return undefined
  }
}

function requireSqlite(): SqliteConstructor {
  return createRequire(import.meta.url)('libsql') as SqliteConstructor
}

/** Why SQLite cannot be loaded, and what to do; `undefined` if it can. */
export function findSqliteProblem(): { readonly message: string; readonly hint: string } | undefined {
  try {
    loaded ??= requireSqlite()
    return undefined
  } catch (error) {
    return describeLoadFailure(error)
  }
}

/** The binary of a platform is a separate package (`@libsql/linux-x64-gnu`), which npm may leave out. */
export function describeLoadFailure(error: unknown): { readonly message: string; readonly hint: string } {
  const missing = findMissingPackage(error)
  const message = `SQLite could not be loaded on ${process.platform} ${process.arch}`
  if (missing === undefined)
    return {
      message: `${message}: ${error instanceof Error ? error.message : String(error)}`,
      hint: 'Install Sallyport again on this machine: a binary that was built for another machine does not load.',
    }
  if (missing.startsWith('@libsql/'))
    return {
      message: `${message}: the package ${missing} is missing.`,
      hint: 'Install again without --omit=optional, so that npm installs the binary for this platform.',
    }
  return { message: `${message}: the package ${missing} is missing.`, hint: INCOMPLETE_INSTALLATION_HINT }
}

const DAMAGED = new Set(['SQLITE_CORRUPT', 'SQLITE_NOTADB', 'SQLITE_FORMAT', 'SQLITE_SCHEMA'])

/** The file itself is damaged: a retry cannot help. */
export function isCorruption(cause: unknown): boolean {
  const code = causeCode(cause)
  if (DAMAGED.has(code) || code.startsWith('SQLITE_CORRUPT_')) return true
  // A missing table, in a version that should have it, is another kind of damage.
  return code === 'SQLITE_ERROR' && /no such (table|column)|malformed/.test(String((cause as Error).message))
}
