import { createRequire } from 'node:module'
import { causeCode, findMissingPackage, INCOMPLETE_INSTALLATION_HINT } from '../disk/disk.ts'

type Value = string | number | Uint8Array | null

/** The little of libsql that we use. Its numbers come back as numbers. */
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

/** As it comes back: by its documentation the one, by its code the other. */
export type Blob = ArrayBuffer | Uint8Array

/** In place: a kept catalogue may have megabytes, and is read while somebody waits for the first list. */
export function decodeBlob(blob: Blob): string {
  const bytes = ArrayBuffer.isView(blob)
    ? Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength)
    : Buffer.from(blob)
  // A decoder would make a text of two bytes for each letter, which takes longer, also to parse.
  return bytes.toString('utf8')
}

type SqliteConstructor = new (path: string) => Sqlite

let loaded: SqliteConstructor | undefined

/** The binding, loaded when first needed; undefined where it cannot be loaded. */
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

/** Why SQLite cannot be loaded, and what to do; undefined where it can. */
export function findSqliteProblem(): { readonly message: string; readonly hint: string } | undefined {
  try {
    loaded ??= requireSqlite()
    return undefined
  } catch (error) {
    return describeLoadFailure(error)
  }
}

/** The binary of a platform is a package of its own (`@libsql/linux-x64-gnu`), which npm may leave out. */
export function describeLoadFailure(error: unknown): { readonly message: string; readonly hint: string } {
  const missing = findMissingPackage(error)
  const message = `SQLite could not be loaded on ${process.platform} ${process.arch}`
  if (missing === undefined)
    return {
      message: `${message}: ${error instanceof Error ? error.message : String(error)}`,
      hint: 'Install Sallyport again on this machine: a binary that was made for another one does not load.',
    }
  if (missing.startsWith('@libsql/'))
    return {
      message: `${message}: the package ${missing} is missing.`,
      hint: 'Install again without --omit=optional, so that npm brings the binary for this platform.',
    }
  return { message: `${message}: the package ${missing} is missing.`, hint: INCOMPLETE_INSTALLATION_HINT }
}

const DAMAGED = new Set(['SQLITE_CORRUPT', 'SQLITE_NOTADB', 'SQLITE_FORMAT', 'SQLITE_SCHEMA'])

/** The file itself is broken: no later try will read it. */
export function isCorruption(cause: unknown): boolean {
  const code = causeCode(cause)
  if (DAMAGED.has(code) || code.startsWith('SQLITE_CORRUPT_')) return true
  // A table that is not there, under a version that has it, is damage of another kind.
  return code === 'SQLITE_ERROR' && /no such (table|column)|malformed/.test(String((cause as Error).message))
}
