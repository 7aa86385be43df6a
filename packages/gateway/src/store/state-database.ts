import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { causeCode, createPrivateFile, stateUnusable } from '../disk/disk.ts'
import { isCorruption, loadSqlite, type Sqlite } from './sqlite.ts'

/** Forward only: the SQL at index n migrates a database from version n to n + 1. Released ones are never edited. */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    time INTEGER,
    type TEXT NOT NULL,
    trace_id TEXT,
    call_id TEXT,
    server TEXT,
    tool_name TEXT,
    agent TEXT,
    session TEXT,
    file INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    length INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX events_time ON events (time);
  CREATE INDEX events_trace ON events (trace_id) WHERE trace_id IS NOT NULL;
  CREATE INDEX events_call ON events (call_id) WHERE call_id IS NOT NULL;
  CREATE INDEX events_session ON events (session) WHERE session IS NOT NULL;
  CREATE TABLE indexed (id INTEGER PRIMARY KEY CHECK (id = 1), file INTEGER NOT NULL, offset INTEGER NOT NULL) STRICT;
  INSERT INTO indexed VALUES (1, 0, 0);
  CREATE TABLE catalogues (server TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, catalogue BLOB NOT NULL) STRICT;
  `,
  'CREATE TABLE definitions (pin TEXT PRIMARY KEY, definition BLOB NOT NULL) STRICT, WITHOUT ROWID;',
  `
  ALTER TABLE definitions ADD COLUMN server TEXT NOT NULL DEFAULT '';
  CREATE INDEX definitions_server ON definitions (server);
  CREATE TABLE offers (
    server TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    pin TEXT NOT NULL,
    inspected TEXT NOT NULL,
    findings TEXT NOT NULL,
    accepted TEXT NOT NULL,
    PRIMARY KEY (server, kind, name)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE sessions (
    user TEXT NOT NULL,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    profile TEXT NOT NULL,
    sensitivity TEXT NOT NULL,
    raised INTEGER NOT NULL,
    PRIMARY KEY (user, session)
  ) STRICT, WITHOUT ROWID;
  `,
]

/** Reads the first page of every table, so that a missing table is noticed. */
const PROOF = `
  SELECT max(seq), max(time), max(trace_id), max(call_id), max(session) FROM events;
  SELECT file, offset FROM indexed;
  SELECT server FROM catalogues LIMIT 1;
  SELECT pin FROM definitions LIMIT 1;
  SELECT server FROM offers LIMIT 1;
  SELECT user FROM sessions LIMIT 1;
`

/**
 * Opens the index and caches. A damaged file is moved aside, and a new one is created. `undefined` if SQLite cannot be
 * loaded.
 */
export function openStateDatabase(path: string, now: () => Date): Sqlite | undefined {
  try {
    return openVerified(path)
  } catch (cause) {
    if (!isCorruption(cause)) throw databaseUnusable(path, cause)
  }
  moveDamagedAside(path, now)
  try {
    return openVerified(path)
  } catch (cause) {
    throw databaseUnusable(path, cause)
  }
}

/**
 * Uses only `exec` until the database is known to be good: after `close`, libsql keeps a database open while a prepared
 * statement awaits garbage collection, and a file that will be moved aside should be closed first.
 */
function openVerified(path: string): Sqlite | undefined {
  const Sqlite = loadSqlite()
  if (Sqlite === undefined) return undefined
  createPrivateFile(path)
  const database = new Sqlite(path)
  try {
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;')
    migrate(database, path)
    database.exec(PROOF)
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
}

function migrate(database: Sqlite, path: string): void {
  let version = 0
  while (version <= MIGRATIONS.length && !isVersion(database, version)) version++
  if (version > MIGRATIONS.length)
    throw new SallyportError('STATE_UNUSABLE', `${path} was written by a newer Sallyport than this one.`, {
      hint: 'Run that newer version, or choose another folder with --state.',
    })
  for (; version < MIGRATIONS.length; version++)
    database.exec(`BEGIN IMMEDIATE; ${MIGRATIONS[version]}; PRAGMA user_version = ${version + 1}; COMMIT;`)
}

/** `exec` returns no rows, so the query fails if the answer is "no": abs() of the smallest integer overflows. */
function isVersion(database: Sqlite, version: number): boolean {
  try {
    database.exec(`SELECT iif(user_version = ${version}, 1, abs(-9223372036854775807 - 1)) FROM pragma_user_version`)
    return true
  } catch (cause) {
    if (String((cause as Error).message).includes('integer overflow')) return false
    throw cause
  }
}

/** Merges the write-ahead log first: `close` alone does not while statements await garbage collection. */
export function closeStateDatabase(database: Sqlite): void {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // A full disk or a damaged file: the log has everything, and the next start checks again.
  }
  database.close()
}

/** Moves a damaged database aside. Only the newest one is retained, for whoever wants to know the cause. */
export function moveDamagedAside(path: string, now: () => Date): void {
  const folder = dirname(path)
  const prefix = `${basename(path)}.broken-`
  for (const name of readdirSync(folder)) if (name.startsWith(prefix)) rmSync(join(folder, name), { force: true })
  const aside = join(
    folder,
    prefix +
      now()
        .toISOString()
        .replaceAll(/[-:]|\.\d+/g, ''),
  )
  for (const suffix of ['', '-wal']) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix)
  rmSync(`${path}-shm`, { force: true })
}

function databaseUnusable(path: string, cause: unknown): SallyportError {
  if (cause instanceof SallyportError) return cause
  if (causeCode(cause) === 'SQLITE_FULL')
    return stateUnusable(path, Object.assign(new Error('the disk is full'), { code: 'ENOSPC', cause }))
  return stateUnusable(path, cause)
}
