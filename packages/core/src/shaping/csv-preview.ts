import { type Cell, eachRecord, readCell, splitCells } from './csv-records.ts'
import type { FillLimits, FillSource } from './fill-budget.ts'
import { HeadTailBuffer, type IndexedSpan, joinWithGaps } from './head-tail-buffer.ts'
import { isTooLong } from './line-preview.ts'
import type { Ends, Preset } from './preset.ts'
import { type Preview, SCALES, scaleEnds, scaleLength } from './preview.ts'
import { cutMiddle, formatCount, omissionMark } from './safe-cut.ts'

/** Nobody reads wider tables. A smaller budget reduces the number further. */
const MAX_COLUMNS = 100
const MIN_COLUMNS = 4
const COLUMN_SCALES: readonly number[] = [1, 0.5, 0.25, 0.12, 0.06, 0]

export interface Table {
  readonly text: string
  readonly delimiter: number
}

/** How much of each record is shown. */
interface Width {
  readonly columns: number
  readonly length: number
}

/**
 * Smaller and smaller previews of a table: its header, its first and last rows. Yields nothing if it is not a table.
 */
export function* csvPreviews(text: string, preset: Preset, delimiter: number): Generator<Preview> {
  const table = { text, delimiter }
  const records = collectRecords(table, preset.rows)
  if (records === undefined) return
  for (const scale of SCALES) {
    const width = { columns: columnsFor(preset.keys, scale), length: scaleLength(scale) }
    const shown = records.rows.select(scaleEnds(preset.rows, scale))
    yield writeTable(table, { ...records, shown, width })
  }
}

/** The same rows, for a preview that fills its threshold; `undefined` if it is not a table. */
export function openTable(table: Table, { maxParts, threshold }: FillLimits): FillSource | undefined {
  const records = collectRecords(table, { head: maxParts, tail: maxParts })
  if (records === undefined) return undefined
  return {
    maxParts: Math.max(1, Math.min(records.rows.count, maxParts)),
    innerScales: COLUMN_SCALES,
    canGrowInner: false,
    render: ({ ends: wanted, length, inner }) => {
      const columns = Math.max(MIN_COLUMNS, Math.ceil(MAX_COLUMNS * inner))
      const shown = records.rows.select(wanted)
      if (isTooLong(shown, Math.min(length, MIN_COLUMNS), threshold)) return undefined
      return writeTable(table, { ...records, shown, width: { columns, length } })
    },
  }
}

interface Records {
  readonly header: Cell
  readonly rows: HeadTailBuffer
}

function collectRecords({ text, delimiter }: Table, ends: Ends): Records | undefined {
  const rows = new HeadTailBuffer(ends)
  let header: Cell | undefined
  const isTable = eachRecord(text, delimiter, (start, end) => {
    if (header === undefined) header = { start, end }
    else rows.add(start, end)
    return true
  })
  return isTable && header !== undefined ? { header, rows } : undefined
}

const columnsFor = (keys: number, scale: number): number =>
  scale === 1 ? MAX_COLUMNS : Math.max(MIN_COLUMNS, Math.min(MAX_COLUMNS, Math.ceil(2 * keys * scale)))

interface TableSelection extends Records {
  readonly shown: readonly IndexedSpan[]
  readonly width: Width
}

function writeTable(table: Table, { header, rows: buffer, width, shown }: TableSelection): Preview {
  const first = writeRecord(table, header, width)
  let hasCuts = first.isCut
  const rows = joinWithGaps(shown, buffer.count, {
    write: (row) => {
      const { text, isCut } = writeRecord(table, row, width)
      hasCuts ||= isCut
      return text
    },
    gap: (missing) => omissionMark(missing, 'row'),
  })
  return {
    text: rows === '' ? first.text : `${first.text}\n${rows}`,
    omission: { noun: 'row', count: buffer.count - shown.length, of: buffer.count },
    hasCuts,
  }
}

interface WrittenRecord {
  readonly text: string
  readonly isCut: boolean
}

function writeRecord({ text, delimiter }: Table, record: Cell, { columns, length }: Width): WrittenRecord {
  const { cells, count } = splitCells(text, record, { delimiter, maxCells: columns })
  const isCut = count > columns || cells.some(({ start, end }) => end - start > length)
  if (!isCut) return { text: text.slice(record.start, record.end), isCut }
  const shown = cells.map((cell) => writeCell(text, cell, length))
  if (count > columns) shown.push(`… ${formatCount(count - columns, 'column')} omitted …`)
  return { text: shown.join(String.fromCharCode(delimiter)), isCut }
}

/** A shortened cell is quoted, since the omission mark may contain the delimiter. */
function writeCell(text: string, cell: Cell, length: number): string {
  if (cell.end - cell.start <= length) return text.slice(cell.start, cell.end)
  return `"${cutMiddle(readCell(text, cell), length).replaceAll('"', '""')}"`
}
