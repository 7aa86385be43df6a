import { type Cell, eachRecord, readCell, splitCells } from './csv-records.ts'
import { HeadTailBuffer, joinWithGaps } from './head-tail-buffer.ts'
import type { Preset } from './preset.ts'
import { type Preview, SCALES, scaleEnds, scaleLength } from './preview.ts'
import { cutMiddle, formatCount, omissionMark } from './safe-cut.ts'

/** Nobody reads wider tables. A smaller budget reduces the number further. */
const MAX_COLUMNS = 100
const MIN_COLUMNS = 4

interface Table {
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
  const rows = new HeadTailBuffer(preset.rows)
  let header: Cell | undefined
  const isTable = eachRecord(text, delimiter, (start, end) => {
    if (header === undefined) header = { start, end }
    else rows.add(start, end)
    return true
  })
  if (!isTable || header === undefined) return
  for (const scale of SCALES) {
    const width = { columns: columnsFor(preset.keys, scale), length: scaleLength(scale) }
    yield writeTable(table, { header, rows, width, ends: scaleEnds(preset.rows, scale) })
  }
}

const columnsFor = (keys: number, scale: number): number =>
  scale === 1 ? MAX_COLUMNS : Math.max(MIN_COLUMNS, Math.min(MAX_COLUMNS, Math.ceil(2 * keys * scale)))

interface TableSelection {
  readonly header: Cell
  readonly rows: HeadTailBuffer
  readonly width: Width
  readonly ends: Preset['rows']
}

function writeTable(table: Table, { header, rows: buffer, width, ends }: TableSelection): Preview {
  const shown = buffer.select(ends)
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
  const { cells, count } = splitCells(text, record, { delimiter, most: columns })
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
