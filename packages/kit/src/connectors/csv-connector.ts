import { StringDecoder } from 'node:string_decoder'
import { type Json, nextRecordStart, readCell, recordEnd, splitCells } from '@sallyport/core'
import type { OpenFile, Workspace, WrittenFile } from '../workspace/workspace.ts'
import { makeParent } from './file-connector.ts'
import { compileSearch } from './file-search.ts'
import { type ConnectorOptions, checkOffset, clampCount, refusal, withWorkspace } from './with-workspace.ts'

/** The format of a CSV file. */
export interface CsvFormat {
  /** Default: the one of `,` `;` tab and `|` that splits the first record into the most fields. */
  readonly delimiter?: string
  /** `none`: the first record is a row, and the columns are named column_1, column_2 … */
  readonly header?: 'first' | 'none'
}

/** Which rows and columns are read. */
export interface CsvReadOptions extends ConnectorOptions, CsvFormat {
  /** Only these, in this order. */
  readonly columns?: readonly string[]
  /** Only rows that match all conditions. */
  readonly where?: readonly CsvCondition[]
  /** How many of these rows to skip. */
  readonly offset?: number
  readonly limit?: number
}

/** A page of rows. */
export interface CsvRows {
  readonly path: string
  readonly columns: readonly string[]
  readonly rows: readonly Readonly<Record<string, string>>[]
  readonly offset: number
  /** The offset of the next page; missing at the end. */
  readonly nextOffset?: number
}

/** How rows are written. */
export interface CsvWriteOptions extends ConnectorOptions {
  /** Default: `,`. */
  readonly delimiter?: string
  /** Default: those of the first row. */
  readonly columns?: readonly string[]
}

const MAX_ROWS = 10_000
const MAX_PAGE_LENGTH = 4 * 1024 * 1024

/** Tables in text files of the workspace. Fields are strings; they are not interpreted like in a spreadsheet. */
export const CsvConnector = {
  read: (path: string, options: CsvReadOptions = {}): Promise<CsvRows> =>
    withWorkspace(options, (workspace) => workspace.useFile(path, (file) => readRows(path, file, options))),

  /** Writes the whole table, with a header. */
  write: (path: string, rows: readonly CsvRow[], options: CsvWriteOptions = {}): Promise<WrittenFile> =>
    withWorkspace(options, async (workspace) => {
      const text = formatTable(rows, options)
      await makeParent(workspace, path)
      return workspace.writeFile(path, text)
    }),

  /** Appends rows, with the columns and the delimiter of the file. */
  append: (path: string, rows: readonly CsvRow[], options: ConnectorOptions & CsvFormat = {}): Promise<WrittenFile> =>
    withWorkspace(options, async (workspace) => appendRows(workspace, path, { rows, format: options })),
} as const

interface TableFormat {
  readonly columns: readonly string[]
  readonly delimiter: number
}

const resolveDelimiter = async (file: OpenFile, { delimiter }: CsvFormat): Promise<number> =>
  delimiter === undefined ? detectDelimiter(file) : parseDelimiter(delimiter)

async function readTable(file: OpenFile, format: CsvFormat): Promise<TableFormat> {
  const delimiter = await resolveDelimiter(file, format)
  for await (const fields of readRecords(file, delimiter))
    return { columns: nameColumns(format.header === 'none' ? fields.map(() => '') : fields), delimiter }
  return { columns: [], delimiter }
}

/** Gives every column a unique name. */
function nameColumns(fields: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  // Where the last search ended: a header may contain one name a million times.
  const counts = new Map<string, number>()
  return fields.map((field, index) => {
    const plain = field.trim() === '' ? `column_${index + 1}` : field
    let name = plain
    let count = counts.get(plain) ?? 2
    for (; taken.has(name); count++) name = `${plain}_${count}`
    counts.set(plain, count)
    taken.add(name)
    return name
  })
}

async function readRows(path: string, file: OpenFile, options: CsvReadOptions): Promise<CsvRows> {
  const offset = checkOffset(options.offset ?? 0)
  const limit = clampCount('limit', options.limit ?? 100, MAX_ROWS)
  const { columns, delimiter } = await readTable(file, options)
  const select = compileSelection(columns, options.columns)
  const isWanted = compileFilter(options.where ?? [], columns)
  const page: RowPage = { rows: [], length: 0 }
  let [index, skipped] = [0, 0]
  for await (const fields of readRecords(file, delimiter)) {
    if (index++ === 0 && options.header !== 'none') continue
    if (!isWanted(fields) || skipped++ < offset) continue
    if (page.rows.length === limit || page.length > MAX_PAGE_LENGTH)
      return {
        path,
        columns: options.columns ?? columns,
        rows: page.rows,
        offset,
        nextOffset: offset + page.rows.length,
      }
    page.rows.push(select(fields))
    page.length += fields.reduce((sum, field) => sum + field.length, 0)
  }
  return { path, columns: options.columns ?? columns, rows: page.rows, offset }
}

interface RowPage {
  readonly rows: Readonly<Record<string, string>>[]
  length: number
}

/** Missing fields are empty. Fields without a column are named by their position, unless columns were chosen. */
function compileSelection(
  columns: readonly string[],
  wanted: readonly string[] | undefined,
): (fields: readonly string[]) => Readonly<Record<string, string>> {
  if (wanted === undefined)
    return (fields) =>
      Object.fromEntries([
        ...columns.map((name, at) => [name, fields[at] ?? '']),
        ...fields.slice(columns.length).map((field, extra) => [`column_${columns.length + extra + 1}`, field]),
      ])
  const byName = new Map(columns.map((name, at) => [name, at]))
  const positions = wanted.map((name) => {
    const at = byName.get(name)
    if (at === undefined) throw unknownColumnError(name, columns)
    return [name, at] as const
  })
  return (fields) => Object.fromEntries(positions.map(([name, at]) => [name, fields[at] ?? '']))
}

function formatTable(rows: readonly CsvRow[], { columns, delimiter = ',' }: CsvWriteOptions): string {
  parseDelimiter(delimiter)
  const names = columns ?? inferColumns(rows)
  return formatRecord(names, delimiter) + formatRows(rows, names, delimiter)
}

function inferColumns([first]: readonly CsvRow[]): readonly string[] {
  if (first === undefined || isArrayRow(first))
    throw refusal('The columns are unknown: give them, or give rows by column name.')
  const names = Object.keys(first)
  if (names.length === 0) throw refusal('The first row has no columns.')
  return names
}

interface RowsToAppend {
  readonly rows: readonly CsvRow[]
  readonly format: CsvFormat
}

async function appendRows(workspace: Workspace, path: string, { rows, format }: RowsToAppend): Promise<WrittenFile> {
  const { table, isBroken } = await workspace.useFile(path, async (file) => ({
    table: await readTable(file, format),
    isBroken: file.size > 0 && !/[\r\n]/.test((await file.read(file.size - 1, 1)).toString('latin1')),
  }))
  if (table.columns.length === 0) throw refusal(`${path}: the file has no header. Write the table with its columns.`)
  const text = formatRows(rows, table.columns, String.fromCharCode(table.delimiter))
  // If the last row has no line break, the first new one must not be joined to it.
  return workspace.appendFile(path, isBroken ? `\n${text}` : text)
}

const QUOTE = 0x22
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const CHUNK_BYTES = 256 * 1024
/** An unclosed quotation mark would make one record of everything that follows. */
const MAX_RECORD_LENGTH = 4 * 1024 * 1024
const BOM = Buffer.from('\ufeff')

/**
 * The records of a file by RFC 4180: quoted fields may contain delimiters and line breaks. LF, CRLF and CR end a
 * record; empty lines are skipped. Only one chunk and one record are in memory.
 */
export async function* readRecords(file: OpenFile, delimiter: number): AsyncGenerator<readonly string[]> {
  const decoder = new StringDecoder()
  let held = ''
  let at = await skipBom(file)
  for (let isLast = false; !isLast; ) {
    const chunk = await file.read(at, Math.min(CHUNK_BYTES, Math.max(0, file.size - at)))
    at += chunk.length
    isLast = chunk.length === 0
    held += isLast ? decoder.end() : decoder.write(chunk)
    let start = 0
    for (let end: number; start < held.length; start = nextRecordStart(held, end)) {
      end = recordEnd(held, start, delimiter)
      // A record that reaches the end may continue: with a second quotation mark, or the other half of a line break.
      if (end < 0 || (end + 1 >= held.length && !isLast)) break
      if (end > start) yield readFields(held, { start, end }, delimiter)
    }
    held = held.slice(start)
    if (held.length > MAX_RECORD_LENGTH)
      throw refusal(`A record is over ${MAX_RECORD_LENGTH} characters long: perhaps a quotation mark is not closed.`)
  }
  if (held.length > 0) throw refusal('A quotation mark in the last record is not closed.')
}

async function skipBom(file: OpenFile): Promise<number> {
  const length = BOM.length
  return (await file.read(0, length)).equals(BOM) ? length : 0
}

function readFields(text: string, record: { start: number; end: number }, delimiter: number): readonly string[] {
  const { cells } = splitCells(text, record, { delimiter, maxCells: Number.POSITIVE_INFINITY })
  return cells.map((cell) => readCell(text, cell))
}

const DELIMITERS = [',', ';', '\t', '|'] as const
const SAMPLE_BYTES = 64 * 1024

/** The candidate that splits the first record into the most fields. */
export async function detectDelimiter(file: OpenFile): Promise<number> {
  const start = await skipBom(file)
  const text = (await file.read(start, SAMPLE_BYTES)).toString()
  let best = { code: DELIMITERS[0].charCodeAt(0), fields: 1 }
  for (const candidate of DELIMITERS) {
    const code = candidate.charCodeAt(0)
    const end = recordEnd(text, 0, code)
    const fields = end < 0 ? 0 : splitCells(text, { start: 0, end }, { delimiter: code, maxCells: 0 }).count
    if (fields > best.fields) best = { code, fields }
  }
  return best.code
}

function parseDelimiter(delimiter: string): number {
  const code = delimiter.charCodeAt(0)
  const isFit = delimiter.length === 1 && code < 0x80 && ![QUOTE, LINE_FEED, CARRIAGE_RETURN, 0].includes(code)
  if (!isFit) throw refusal(`The delimiter is ${JSON.stringify(delimiter.slice(0, 8))}; expected one ASCII character.`)
  return code
}

/** A condition on one column. */
export interface CsvCondition {
  readonly column: string
  readonly operator: '=' | '!=' | '<' | '<=' | '>' | '>=' | 'contains'
  readonly value: string | number
}

const COMPARISONS: Readonly<Record<CsvCondition['operator'], (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
  contains: () => false,
}

const MAX_CONDITIONS = 100

/** Checks whether a record matches all conditions. Two numbers are compared as numbers, anything else as text. */
function compileFilter(
  conditions: readonly CsvCondition[],
  columns: readonly string[],
): (fields: readonly string[]) => boolean {
  if (conditions.length > MAX_CONDITIONS)
    throw refusal(`There are ${conditions.length} conditions; at most ${MAX_CONDITIONS} are allowed.`)
  const tests = conditions.map((condition) => compileCondition(condition, columns))
  return (fields) => tests.every((test) => test(fields))
}

function compileCondition(
  { column, operator, value }: CsvCondition,
  columns: readonly string[],
): (fields: readonly string[]) => boolean {
  const at = columns.indexOf(column)
  if (at < 0) throw unknownColumnError(column, columns)
  if (!Object.hasOwn(COMPARISONS, operator))
    throw refusal(`The operator is ${JSON.stringify(operator)}; expected one of ${Object.keys(COMPARISONS).join(' ')}.`)
  const wanted = String(value)
  if (operator === 'contains') {
    const find = compileSearch(wanted)
    return (fields) => find(fields[at] ?? '') >= 0
  }
  return (fields) => COMPARISONS[operator](compareFields(fields[at] ?? '', wanted))
}

function compareFields(left: string, right: string): number {
  const [a, b] = [parseNumber(left), parseNumber(right)]
  if (a !== undefined && b !== undefined) return a - b
  return left === right ? 0 : left < right ? -1 : 1
}

/** No digit can match two parts of this pattern: otherwise matching would take quadratic time. */
const NUMBER_PATTERN = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/

/** Integers that a double cannot represent are compared as strings. */
function parseNumber(text: string): number | undefined {
  if (!NUMBER_PATTERN.test(text)) return undefined
  const value = Number(text)
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : value
}

/** Arrays and objects, which a database may return, are written as JSON. */
export type CsvValue = Json
/** A row by column name, or as a list in the order of the columns. */
export type CsvRow = Readonly<Record<string, CsvValue | undefined>> | readonly CsvValue[]

/** Quotes fields only if needed, so that reading returns the same strings. Nothing else is changed. */
function formatRecord(fields: readonly (CsvValue | undefined)[], delimiter: string): string {
  const texts = fields.map((field) => quoteField(formatField(field), delimiter))
  // An empty line would not be read as a record.
  return `${texts.length === 1 && texts[0] === '' ? '""' : texts.join(delimiter)}\n`
}

function formatField(field: CsvValue | undefined): string {
  if (field === null || field === undefined) return ''
  return typeof field === 'object' ? JSON.stringify(field) : String(field)
}

const quoteField = (text: string, delimiter: string): string =>
  text.includes(delimiter) || /["\r\n\ufeff]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

function formatRows(rows: readonly CsvRow[], columns: readonly string[], delimiter: string): string {
  const known = new Set(columns)
  const fields = (row: CsvRow, index: number) => {
    const unknown = isArrayRow(row) ? undefined : Object.keys(row).find((name) => !known.has(name))
    if (unknown !== undefined) throw unknownColumnError(unknown, columns)
    return toFields(row, columns, index)
  }
  return rows.map((row, index) => formatRecord(fields(row, index), delimiter)).join('')
}

function toFields(row: CsvRow, columns: readonly string[], index: number): readonly (CsvValue | undefined)[] {
  if (isArrayRow(row)) {
    if (row.length > columns.length)
      throw refusal(`Row ${index + 1} has ${row.length} fields; there are ${columns.length} columns.`)
    return columns.map((_, at) => row[at])
  }
  return columns.map((name) => (Object.hasOwn(row, name) ? row[name] : undefined))
}

const isArrayRow = (row: CsvRow): row is readonly CsvValue[] => Array.isArray(row)

function unknownColumnError(name: string, columns: readonly string[]): Error {
  const shown = columns.slice(0, 50).map((column) => JSON.stringify(column.slice(0, 80)))
  return refusal(`There is no column ${JSON.stringify(name.slice(0, 80))}. There are: ${shown.join(', ')}.`)
}
