import type { Json } from '@sallyport/core'
import { refusal } from './source.ts'

/** Lists and mappings, as a database may give them, are written as JSON. */
export type CsvValue = Json
/** By column, or in the order of the columns. */
export type CsvRow = Readonly<Record<string, CsvValue | undefined>> | readonly CsvValue[]

/** Fields are quoted where they must be, so that reading gives the same texts again. Nothing else is changed. */
export function formatRecord(fields: readonly (CsvValue | undefined)[], delimiter: string): string {
  const texts = fields.map((field) => quoteField(formatField(field), delimiter))
  // An empty line would be no record.
  return `${texts.length === 1 && texts[0] === '' ? '""' : texts.join(delimiter)}\n`
}

function formatField(field: CsvValue | undefined): string {
  if (field === null || field === undefined) return ''
  return typeof field === 'object' ? JSON.stringify(field) : String(field)
}

const quoteField = (text: string, delimiter: string): string =>
  text.includes(delimiter) || /["\r\n\ufeff]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text

export function formatRows(rows: readonly CsvRow[], columns: readonly string[], delimiter: string): string {
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

export const isArrayRow = (row: CsvRow): row is readonly CsvValue[] => Array.isArray(row)

export function unknownColumnError(name: string, columns: readonly string[]): Error {
  const shown = columns.slice(0, 50).map((column) => JSON.stringify(column.slice(0, 80)))
  return refusal(`There is no column ${JSON.stringify(name.slice(0, 80))}. There are: ${shown.join(', ')}.`)
}
