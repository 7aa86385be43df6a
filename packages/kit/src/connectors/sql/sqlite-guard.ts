/** The little of libsql that we use. */
export interface SqliteStatement {
  raw(): SqliteStatement
  safeIntegers(): SqliteStatement
  columns(): readonly { readonly name: string; readonly type: string | null }[]
  iterate(parameters: readonly unknown[]): Iterable<readonly unknown[]>
  get(parameters: readonly unknown[]): unknown
  run(parameters: readonly unknown[]): { readonly changes: number }
  readonly reader: boolean
}

export interface Sqlite {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  close(): void
}

const CALL_OPCODES = new Set(['Function', 'PureFunc', 'AggStep', 'AggStep1', 'AggInverse', 'AggValue', 'AggFinal'])
/** They write other files, change the file's form, make tables of foreign code, or run SQL that was not looked at. */
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
 * Tables that are no tables, and show nothing but their arguments or this database's schema. They are looked up in
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

/** What SQLite runs by itself after it has made a table or a view. */
const INTEGRITY_CHECK = /^PRAGMA "(?:main|temp)"\.integrity_check\('(?:[^']|'')*'\)$/

/** Asks for the mode and sets none: a statement that finds nothing to do, CREATE … IF NOT EXISTS, consists of it. */
const JOURNAL_MODE_QUERY = -1

const isInternal = (name: string, third: number, operand: string): boolean =>
  (name === 'SqlExec' && INTEGRITY_CHECK.test(operand)) || (name === 'JournalMode' && third === JOURNAL_MODE_QUERY)

/** What SQLite calls by itself in ALTER; nobody else can. */
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
 * Why a statement must not run, judged by what SQLite compiled it to: no spelling hides a function or a table there.
 * libsql is built with readfile, writefile and fsdir, its ATTACH makes files even from a read-only session, and its
 * own authorizer knows tables only. The caller holds a transaction, so that the schema stays what was judged.
 */
export function checkStatement(database: Sqlite, sql: string, parameterCount: number): string | undefined {
  const operations = explainStatement(database, sql)
  for (const { opcode, p1, p3, p4 } of operations) {
    if (REFUSED_OPCODES.has(opcode) && !isInternal(opcode, p3, p4))
      return `This kind of statement is not allowed here (${opcode}).`
    // SQLite takes one that is not given for NULL.
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

/** A virtual table is known by its address, which stays while the connection lives: those that are allowed first. */
function checkVirtualTables(database: Sqlite, sql: string): string | undefined {
  const own = [...database.prepare(OWN_VIRTUAL_TABLES).raw().iterate([])].map(
    ([name]) => `main.${quoteName(String(name))}`,
  )
  const allowed = new Set(
    [...ALLOWED_VIRTUAL_TABLES, ...own].flatMap((table) => listOpenedTables(database, `SELECT * FROM ${table}`)),
  )
  const isAllowed = listOpenedTables(database, sql).every((address) => allowed.has(address))
  return isAllowed ? undefined : 'A table-valued function that is not allowed here is used.'
}

/**
 * From the one table that no file can replace. A name that `main` does not know after all would mean the module of that
 * name, so those of modules are left out.
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
  // Of all its calls only this one resets the statement; otherwise it counts as a writer, and nothing can be committed.
  statement.get([])
  return rows.map((row) => ({
    opcode: String(row[1]),
    p1: Number(row[2]),
    p3: Number(row[4]),
    p4: String(row[5] ?? ''),
  }))
}
