import type { OpenFile, Workspace, WrittenFile } from '../workspace/workspace.ts'
import { type CsvCondition, compileFilter } from './csv-filter.ts'
import { detectDelimiter, parseDelimiter, readRecords } from './csv-record.ts'
import { type CsvRow, formatRecord, formatRows, isArrayRow, unknownColumnError } from './csv-text.ts'
import { makeParent } from './file-connector.ts'
import { type ConnectorOptions, checkOffset, clampCount, refusal, withWorkspace } from './source.ts'

/** How a CSV file is written. */
export interface CsvFormat {
  /** Absent: whichever of `,` `;` tab and `|` parts the first record into most fields. */
  readonly delimiter?: string
  /** `none`: the first record is a row, and columns are called column_1, column_2 … */
  readonly header?: 'first' | 'none'
}

/** Which rows and columns are read. */
export interface CsvReadOptions extends ConnectorOptions, CsvFormat {
  /** Only these, in this order. */
  readonly columns?: readonly string[]
  /** Only rows that fulfil all of them. */
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
  /** Where to go on; absent at the end. */
  readonly nextOffset?: number
}

/** How rows are written. */
export interface CsvWriteOptions extends ConnectorOptions {
  /** `,` unless told. */
  readonly delimiter?: string
  /** Absent: those of the first row. */
  readonly columns?: readonly string[]
}

const MAX_ROWS = 10_000
const MAX_PAGE_LENGTH = 4 * 1024 * 1024

/** Tables in text files of the workspace. Fields are texts: what a spreadsheet would make of them is not our affair. */
export const CsvConnector = {
  read: (path: string, options: CsvReadOptions = {}): Promise<CsvRows> =>
    withWorkspace(options, (workspace) => workspace.useFile(path, (file) => readRows(path, file, options))),

  /** The whole table anew, with a header. */
  write: (path: string, rows: readonly CsvRow[], options: CsvWriteOptions = {}): Promise<WrittenFile> =>
    withWorkspace(options, async (workspace) => {
      const text = formatTable(rows, options)
      await makeParent(workspace, path)
      return workspace.writeFile(path, text)
    }),

  /** Rows at the end, in the file's own columns and with its own delimiter. */
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

/** Every column has a name of its own. */
function nameColumns(fields: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  // Where the last search ended: a header may hold one name a million times.
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

/** Missing fields are empty; fields without a column are called by their place, unless columns were chosen. */
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
  const places = wanted.map((name) => {
    const at = byName.get(name)
    if (at === undefined) throw unknownColumnError(name, columns)
    return [name, at] as const
  })
  return (fields) => Object.fromEntries(places.map(([name, at]) => [name, fields[at] ?? '']))
}

function formatTable(rows: readonly CsvRow[], { columns, delimiter = ',' }: CsvWriteOptions): string {
  parseDelimiter(delimiter)
  const names = columns ?? inferColumns(rows)
  return formatRecord(names, delimiter) + formatRows(rows, names, delimiter)
}

function inferColumns([first]: readonly CsvRow[]): readonly string[] {
  if (first === undefined || isArrayRow(first))
    throw refusal('The columns are not known: give them, or rows by column.')
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
  // A last row without a line break must not take in the first new one.
  return workspace.appendFile(path, isBroken ? `\n${text}` : text)
}
