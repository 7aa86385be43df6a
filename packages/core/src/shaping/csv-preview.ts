import { type Cell, cellsOf, cellText, eachRecord } from './csv-records.ts'
import { EndsKeeper, withGaps } from './line-index.ts'
import type { Preset } from './preset.ts'
import { type Preview, SCALES, scaledEnds, scaledLength } from './preview.ts'
import { counted, cutMiddle, omissionMark } from './safe-cut.ts'

/** Nobody reads wider tables; they are narrowed further only where the budget asks for it. */
const WIDEST = 100
const NARROWEST = 4

interface Table {
  readonly text: string
  readonly delimiter: number
}

/** How much of each record is written. */
interface Width {
  readonly columns: number
  readonly length: number
}

/** Ever smaller previews of a table: its header, its first and its last rows. None where it proves to be no table. */
export function* csvPreviews(text: string, preset: Preset, delimiter: number): Generator<Preview> {
  const table = { text, delimiter }
  const keeper = new EndsKeeper(preset.rows)
  let header: Cell | undefined
  const isTable = eachRecord(text, delimiter, (start, end) => {
    if (header === undefined) header = { start, end }
    else keeper.add(start, end)
    return true
  })
  if (!isTable || header === undefined) return
  for (const scale of SCALES) {
    const width = { columns: columnsFor(preset.keys, scale), length: scaledLength(scale) }
    yield written(table, { header, keeper, width, ends: scaledEnds(preset.rows, scale) })
  }
}

const columnsFor = (keys: number, scale: number): number =>
  scale === 1 ? WIDEST : Math.max(NARROWEST, Math.min(WIDEST, Math.ceil(2 * keys * scale)))

interface Choice {
  readonly header: Cell
  readonly keeper: EndsKeeper
  readonly width: Width
  readonly ends: Preset['rows']
}

function written(table: Table, { header, keeper, width, ends }: Choice): Preview {
  const shown = keeper.shown(ends)
  const first = writeRecord(table, header, width)
  let hasCuts = first.isCut
  const rows = withGaps(shown, keeper.count, {
    write: (row) => {
      const { text, isCut } = writeRecord(table, row, width)
      hasCuts ||= isCut
      return text
    },
    gap: (missing) => omissionMark(missing, 'row'),
  })
  return {
    text: rows === '' ? first.text : `${first.text}\n${rows}`,
    omission: { noun: 'row', count: keeper.count - shown.length, of: keeper.count },
    hasCuts,
  }
}

interface WrittenRecord {
  readonly text: string
  readonly isCut: boolean
}

function writeRecord({ text, delimiter }: Table, record: Cell, { columns, length }: Width): WrittenRecord {
  const { cells, count } = cellsOf(text, record, { delimiter, most: columns })
  const isCut = count > columns || cells.some(({ start, end }) => end - start > length)
  if (!isCut) return { text: text.slice(record.start, record.end), isCut }
  const shown = cells.map((cell) => writeCell(text, cell, length))
  if (count > columns) shown.push(`… ${counted(count - columns, 'column')} omitted …`)
  return { text: shown.join(String.fromCharCode(delimiter)), isCut }
}

/** A cell that is cut is quoted, since what is said of the cut may hold the delimiter. */
function writeCell(text: string, cell: Cell, length: number): string {
  if (cell.end - cell.start <= length) return text.slice(cell.start, cell.end)
  return `"${cutMiddle(cellText(text, cell), length).replaceAll('"', '""')}"`
}
