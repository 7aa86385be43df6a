import type { Json } from '@sallyport/core'
import { RowCollector, toJsonInteger, toJsonReal } from './sql-result.ts'
import { parseStatement } from './sql-statement.ts'
import { checkStatement, type Sqlite, type SqliteStatement } from './sqlite-guard.ts'
import type { SqliteAnswer, SqliteJob } from './sqlite-job.ts'

export type SqliteConstructor = new (path: string) => Sqlite

const READ_KEYWORDS = new Set(['SELECT', 'WITH', 'VALUES'])
const WRITE_KEYWORDS = new Set([...READ_KEYWORDS, 'INSERT', 'REPLACE', 'UPDATE', 'DELETE', 'CREATE', 'DROP', 'ALTER'])
const MAX_HEAP_BYTES = 256 * 1024 * 1024

/** Runs one statement in a connection of its own, so that nothing of it is left for the next. */
export function runSqlite(Database: SqliteConstructor, job: SqliteJob): SqliteAnswer {
  const statement = parseStatement(job.sql)
  const keywords = job.access === 'write' ? WRITE_KEYWORDS : READ_KEYWORDS
  // Pragmas act while they are compiled, so they must not get as far as that. They begin with their own word.
  if (!keywords.has(statement.keyword)) return refused(`Expected a statement with ${[...keywords].join(', ')}.`)
  if (statement.hasMore) return refused('There are several statements. Give one at a time.')
  let database: Sqlite | undefined
  try {
    database = openSession(Database, job)
    return runGuarded(database, statement.text, job)
  } catch (error) {
    return describeSqliteError(error, job)
  } finally {
    database?.close()
  }
}

function openSession(Database: SqliteConstructor, { file, access }: SqliteJob): Sqlite {
  const path = encodeURI(file).replaceAll('?', '%3f').replaceAll('#', '%23')
  const database = new Database(`file:${path}?mode=${access === 'write' ? 'rw' : 'ro'}`)
  database.exec(`PRAGMA busy_timeout = 2000; PRAGMA hard_heap_limit = ${MAX_HEAP_BYTES}; PRAGMA trusted_schema = OFF`)
  if (access === 'read') database.exec('PRAGMA query_only = ON')
  return database
}

function runGuarded(database: Sqlite, sql: string, job: SqliteJob): SqliteAnswer {
  database.exec('BEGIN')
  try {
    // The transaction begins with the first read, and the schema is then fixed: what is judged is what runs.
    drain(database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').iterate([]))
    const refusal = checkStatement(database, sql, job.parameters.length)
    if (refusal !== undefined) return refused(refusal)
    const answer = runStatement(database.prepare(sql), job)
    if (job.access === 'write') database.exec('COMMIT')
    return answer
  } finally {
    // Ends what is still being read, too: a prepared statement that awaits garbage collection would keep its lock.
    endTransaction(database)
  }
}

function endTransaction(database: Sqlite): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // There is none after COMMIT, nor after an error that ended it.
  }
}

function runStatement(statement: SqliteStatement, { parameters, limits, access }: SqliteJob): SqliteAnswer {
  const values = parameters.map(toSqliteValue)
  if (!statement.reader)
    return { kind: 'rows', columns: [], rows: [], isCut: false, changed: statement.run(values).changes }
  const columns = statement.columns()
  const tray = new RowCollector(
    columns.map(({ name }) => name),
    limits,
  )
  let count = 0
  for (const row of statement.raw().safeIntegers().iterate(values)) {
    count++
    // What changes data is read to its end, or part of it would not be done.
    if (!tray.add(row.map(toJsonValue)) && access === 'read') break
  }
  return {
    kind: 'rows',
    columns: columns.map(({ type }, at) => ({ name: tray.names[at] ?? '', ...(type === null ? {} : { type }) })),
    rows: tray.rows,
    isCut: tray.isCut,
    changed: access === 'write' ? count : 0,
  }
}

/** libsql ends the process on a boolean, and makes every number a real one. */
function toSqliteValue(value: Json): unknown {
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}

function toJsonValue(value: unknown): Json {
  if (value === null || value === undefined) return null
  if (typeof value === 'bigint') return toJsonInteger(value)
  if (typeof value === 'number') return toJsonReal(value)
  if (value instanceof ArrayBuffer) return `\\x${Buffer.from(value).toString('hex')}`
  if (ArrayBuffer.isView(value))
    return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`
  return String(value)
}

function drain(rows: Iterable<unknown>): void {
  for (const _ of rows);
}

const refused = (message: string): SqliteAnswer => ({ kind: 'refused', message })

const BROKEN_CODES = new Set(['SQLITE_CANTOPEN', 'SQLITE_NOTADB', 'SQLITE_CORRUPT', 'SQLITE_IOERR', 'SQLITE_PERM'])

function describeSqliteError(error: unknown, { file }: SqliteJob): SqliteAnswer {
  const { code = '', message = '' } = error as { readonly code?: string; readonly message?: string }
  if (BROKEN_CODES.has(code) || /^(?:SQLITE_IOERR|SQLITE_CANTOPEN|SQLITE_CORRUPT)_/.test(code) || code === '')
    return {
      kind: 'broken',
      message: code === '' ? 'The file cannot be opened.' : `The file cannot be read (${code}).`,
    }
  return refused(message.replaceAll(file, 'the file'))
}
