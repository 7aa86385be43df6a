import { createRequire } from 'node:module'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import type { Json } from '@sallyport/core'
import { RowCollector, toJsonInteger, toJsonReal } from './sql-result.ts'
import { parseStatement } from './sql-statement.ts'
import type { SqliteAnswer, SqliteJob } from './sqlite-job.ts'

/**
 * The program of the child process in which SQLite runs. Its second thread runs one statement after the other. Its first
 * thread only passes messages, so that it notices while a statement runs that the parent is gone, and ends the process.
 */
if (isMainThread) passMessages()
else answerJobs()

function passMessages(): void {
  const thread = new Worker(new URL(import.meta.url))
  process.on('message', (job) => thread.postMessage(job))
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  thread.on('message', (answer) => process.send?.(answer))
  thread.on('error', () => process.kill(process.pid, 'SIGKILL'))
}

function answerJobs(): void {
  const Database = loadLibsql()
  parentPort?.on('message', (job: SqliteJob) => {
    parentPort?.postMessage(runJob(Database, job))
    // libsql keeps a database open until its statements are collected.
    globalThis.gc?.()
  })
}

function runJob(Database: SqliteConstructor | undefined, job: SqliteJob): SqliteAnswer {
  if (Database === undefined) return { kind: 'broken', message: 'SQLite needs the package libsql: npm install libsql' }
  return runSqlite(Database, job)
}

function loadLibsql(): SqliteConstructor | undefined {
  try {
    return createRequire(import.meta.url)('libsql') as SqliteConstructor
  } catch {
    return undefined
  }
}

type SqliteConstructor = new (path: string) => Sqlite

const READ_KEYWORDS = new Set(['SELECT', 'WITH', 'VALUES'])
const WRITE_KEYWORDS = new Set([...READ_KEYWORDS, 'INSERT', 'REPLACE', 'UPDATE', 'DELETE', 'CREATE', 'DROP', 'ALTER'])
const MAX_HEAP_BYTES = 256 * 1024 * 1024

/** Runs one statement in its own connection, so that nothing of it remains for the next. */
function runSqlite(Database: SqliteConstructor, job: SqliteJob): SqliteAnswer {
  const statement = parseStatement(job.sql)
  const keywords = job.access === 'write' ? WRITE_KEYWORDS : READ_KEYWORDS
  // Pragmas take effect when they are compiled, so they must be refused before. They begin with the keyword PRAGMA.
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
    // The first read begins the transaction and fixes the schema, so that what is checked is what runs.
    drain(database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').iterate([]))
    const refusal = checkStatement(database, sql, job.parameters.length)
    if (refusal !== undefined) return refused(refusal)
    const answer = runStatement(database.prepare(sql), job)
    if (job.access === 'write') database.exec('COMMIT')
    return answer
  } finally {
    // This also ends reads: a prepared statement that awaits garbage collection would keep its lock.
    endTransaction(database)
  }
}

function endTransaction(database: Sqlite): void {
  try {
    database.exec('ROLLBACK')
  } catch {
    // There is no transaction after COMMIT, or after an error that ended it.
  }
}

function runStatement(statement: SqliteStatement, { parameters, limits, access }: SqliteJob): SqliteAnswer {
  const values = parameters.map(toSqliteValue)
  if (!statement.reader)
    return { kind: 'rows', columns: [], rows: [], isCut: false, changed: statement.run(values).changes }
  const columns = statement.columns()
  const collector = new RowCollector(
    columns.map(({ name }) => name),
    limits,
  )
  let count = 0
  for (const row of statement.raw().safeIntegers().iterate(values)) {
    count++
    // A statement that changes data must be read to its end, otherwise some changes would not happen.
    if (!collector.add(row.map(toJsonValue)) && access === 'read') break
  }
  return {
    kind: 'rows',
    columns: columns.map(({ type }, at) => ({ name: collector.names[at] ?? '', ...(type === null ? {} : { type }) })),
    rows: collector.rows,
    isCut: collector.isCut,
    changed: access === 'write' ? count : 0,
  }
}

/** libsql ends the process on a boolean, and converts every number to a REAL. */
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

/** The part of libsql that we use. */
interface SqliteStatement {
  raw(): SqliteStatement
  safeIntegers(): SqliteStatement
  columns(): readonly { readonly name: string; readonly type: string | null }[]
  iterate(parameters: readonly unknown[]): Iterable<readonly unknown[]>
  get(parameters: readonly unknown[]): unknown
  run(parameters: readonly unknown[]): { readonly changes: number }
  readonly reader: boolean
}

interface Sqlite {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  close(): void
}

const CALL_OPCODES = new Set(['Function', 'PureFunc', 'AggStep', 'AggStep1', 'AggInverse', 'AggValue', 'AggFinal'])
/** They write other files, change the file format, create tables of foreign code, or run SQL that was not checked. */
const REFUSED_OPCODES = new Set(['Vacuum', 'JournalMode', 'Checkpoint', 'VCreate', 'SqlExec'])

const ALLOWED_FUNCTIONS = new Set(
  `-> ->> abs acos acosh asin asinh atan atan2 atanh atn2 avg bm25 ceil ceiling changes char charindex coalesce concat
   concat_ws cos cosh cot coth count cume_dist current_date current_time current_timestamp date datetime degrees
   dense_rank difference exp first_value floor format geopoly_area geopoly_bbox geopoly_blob geopoly_ccw
   geopoly_contains_point geopoly_group_bbox geopoly_json geopoly_overlap geopoly_regular geopoly_svg geopoly_within
   geopoly_xform glob group_concat hex highlight ifnull iif instr json json_array json_array_length json_error_position
   json_extract json_group_array json_group_object json_insert json_object json_patch json_quote json_remove
   json_replace json_set json_type json_valid jsonb jsonb_array jsonb_extract jsonb_group_array jsonb_group_object
   jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set julianday lag last_insert_rowid
   last_value lead leftstr length like likelihood likely ln log log10 log2 lower lower_quartile ltrim match matchinfo
   max median min mod mode nth_value ntile nullif octet_length offsets padc padl padr percent_rank pi pow power printf
   proper quote radians random randomblob rank regexp regexpi replace replicate reverse rightstr round row_number rtrim
   sha3 sign sin sinh snippet soundex sqlite_source_id sqlite_version sqrt square stdev strfilter strftime string_agg
   substr substring subtype sum tan tanh time timediff total total_changes trim trunc typeof unhex unicode unixepoch
   unlikely upper upper_quartile uuid uuid_blob uuid_str variance vector vector_distance_cos vector_distance_l2
   vector_extract vector32 vector64 zeroblob`.split(/\s+/),
)

/**
 * Table-valued functions that show only their arguments or this database's schema. They are looked up in
 * `temp`, which is empty: in `main` the file may have a table, or a view of something else, of the same name.
 */
const ALLOWED_VIRTUAL_TABLES = [
  "temp.json_each('1')",
  "temp.json_tree('1')",
  'temp.generate_series(1, 1)',
  "temp.pragma_table_info('x')",
  "temp.pragma_table_xinfo('x')",
  "temp.pragma_foreign_key_list('x')",
  "temp.pragma_index_list('x')",
  "temp.pragma_index_info('x')",
  'temp.pragma_table_list',
]

/** SQLite runs this itself after it has created a table or a view. */
const INTEGRITY_CHECK = /^PRAGMA "(?:main|temp)"\.integrity_check\('(?:[^']|'')*'\)$/

/** Reads the mode without changing it: a CREATE … IF NOT EXISTS that has nothing to do compiles to it. */
const JOURNAL_MODE_QUERY = -1

const isInternal = (name: string, third: number, operand: string): boolean =>
  (name === 'SqlExec' && INTEGRITY_CHECK.test(operand)) || (name === 'JournalMode' && third === JOURNAL_MODE_QUERY)

/** Functions that SQLite itself calls in ALTER; other statements cannot call them. */
const ALTER_FUNCTIONS = new Set([
  'sqlite_drop_column',
  'sqlite_rename_column',
  'sqlite_rename_quotefix',
  'sqlite_rename_table',
  'sqlite_rename_test',
])

interface Instruction {
  readonly opcode: string
  readonly p1: number
  readonly p3: number
  readonly p4: string
}

/**
 * Why a statement must not run, based on SQLite's compiled form: no spelling hides a function or a table there.
 * libsql is built with readfile, writefile and fsdir, its ATTACH creates files even in a read-only session, and its
 * own authorizer covers tables only. The caller holds a transaction, so that the schema stays as it was checked.
 */
function checkStatement(database: Sqlite, sql: string, parameterCount: number): string | undefined {
  const operations = explainStatement(database, sql)
  for (const { opcode, p1, p3, p4 } of operations) {
    if (REFUSED_OPCODES.has(opcode) && !isInternal(opcode, p3, p4))
      return `This kind of statement is not allowed here (${opcode}).`
    // SQLite treats a missing parameter as NULL.
    if (opcode === 'Variable' && p1 > parameterCount)
      return `The parameter ${p1} is missing: ${parameterCount} are given.`
    if (!CALL_OPCODES.has(opcode)) continue
    const called = p4.slice(0, p4.lastIndexOf('('))
    const isKnown = ALLOWED_FUNCTIONS.has(called) || (ALTER_FUNCTIONS.has(called) && /^ALTER\b/i.test(sql))
    if (!isKnown) return `The function ${called} is not allowed here.`
  }
  if (!operations.some(({ opcode }) => opcode === 'VOpen')) return undefined
  return checkVirtualTables(database, sql)
}

/** A virtual table is identified by its address, which is stable within a connection. So this lists the allowed addresses first. */
function checkVirtualTables(database: Sqlite, sql: string): string | undefined {
  const own = [...database.prepare(OWN_VIRTUAL_TABLES).raw().iterate([])].map(
    ([name]) => `main.${quoteName(String(name))}`,
  )
  const allowed = new Set(
    [...ALLOWED_VIRTUAL_TABLES, ...own].flatMap((table) => listOpenedTables(database, `SELECT * FROM ${table}`)),
  )
  const isAllowed = listOpenedTables(database, sql).every((address) => allowed.has(address))
  return isAllowed ? undefined : 'The statement uses a table-valued function that is not allowed here.'
}

/**
 * Read from the only table that a file cannot replace. A name that is not in `main` would mean the module of that name,
 * so names of modules are left out.
 */
const OWN_VIRTUAL_TABLES = `SELECT name FROM main.sqlite_schema
  WHERE type = 'table' AND ifnull(rootpage, 0) = 0 AND lower(name) NOT LIKE 'pragma%'
    AND lower(name) NOT IN (SELECT lower(name) FROM temp.pragma_module_list)`

const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`

const listOpenedTables = (database: Sqlite, sql: string): readonly string[] =>
  explainStatement(database, sql)
    .filter(({ opcode }) => opcode === 'VOpen')
    .map(({ p4 }) => p4)

function explainStatement(database: Sqlite, sql: string): readonly Instruction[] {
  const statement = database.prepare(`EXPLAIN ${sql}`).raw()
  const rows = [...statement.iterate([])]
  // Only this call resets the statement; otherwise it counts as a writer, and nothing can be committed.
  statement.get([])
  return rows.map((row) => ({
    opcode: String(row[1]),
    p1: Number(row[2]),
    p3: Number(row[4]),
    p4: String(row[5] ?? ''),
  }))
}
