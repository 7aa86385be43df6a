import { displayWidth, PLAIN, type Style, truncateText, visibleLine } from './terminal-text.ts'

export interface Column<Row> {
  readonly title: string
  readonly value: (row: Row) => string | number | undefined
  /** Narrowed first when the terminal is too small for everything. */
  readonly flexible?: true
  /** Left out if the other columns would become too narrow, the last expendable one first. */
  readonly expendable?: true
  readonly align?: 'right'
  readonly paint?: (row: Row, style: Style) => (text: string) => string
}

export interface TableOptions<Row> {
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** `undefined`: nothing is truncated, for output that is not a terminal. */
  readonly width: number | undefined
  readonly style?: Style
}

const GAP = '  '
const MIN_WIDTH = 8

/** Renders a title line and one line per row, whatever characters the values contain. */
export function renderTable<Row>({ columns: all, rows, width, style = PLAIN }: TableOptions<Row>): string {
  const columns = width === undefined ? all : fitColumns(all, rows, width)
  const cells = cellsOf(columns, rows)
  const natural = naturalWidths(columns, cells)
  const widths = width === undefined ? natural : fitWidths(columns, natural, width)
  const titles = columns.map(({ title }) => title)
  const head = paintedLine(layOut(columns, titles, widths), () => style.dim, width)
  const body = cells.map((line, index) => {
    const paintOf = (at: number) => columns[at]?.paint?.(rows[index] as Row, style)
    return paintedLine(layOut(columns, line, widths), paintOf, width)
  })
  return [head, ...body].join('')
}

/**
 * Joins cells to one line that fits the width. It is truncated before it is colored: half an escape sequence would
 * break the rest.
 */
export function paintedLine(
  cells: readonly string[],
  paintOf: (at: number) => ((text: string) => string) | undefined,
  width: number | undefined,
): string {
  const whole = cells.join(GAP).trimEnd()
  const line = width === undefined ? whole : truncateText(whole, width)
  let painted = ''
  let from = 0
  for (const [at, { length }] of cells.entries()) {
    const cell = line.slice(from, from + length)
    painted +=
      (cell === '' ? cell : (paintOf(at)?.(cell) ?? cell)) + line.slice(from + length, from + length + GAP.length)
    from += length + GAP.length
  }
  return `${painted}\n`
}

const cellsOf = <Row>(columns: readonly Column<Row>[], rows: readonly Row[]): readonly string[][] =>
  rows.map((row) => columns.map(({ value }) => visibleLine(String(value(row) ?? ''))))

const naturalWidths = <Row>(columns: readonly Column<Row>[], cells: readonly string[][]): number[] =>
  columns.map(({ title }, at) => Math.max(displayWidth(title), ...cells.map((line) => displayWidth(line[at] ?? ''))))

/** An expendable column is left out if a flexible column would get less than this width. */
const MIN_COMFORTABLE_WIDTH = 32

function fitColumns<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number): readonly Column<Row>[] {
  const last = columns.findLastIndex(({ expendable }) => expendable)
  if (last < 0) return columns
  const natural = naturalWidths(columns, cellsOf(columns, rows))
  const widths = fitWidths(columns, natural, width)
  const isCramped = columns.some(
    ({ flexible }, at) => flexible && (widths[at] ?? 0) < Math.min(natural[at] ?? 0, MIN_COMFORTABLE_WIDTH),
  )
  if (!isCramped && lineWidth(widths) <= width) return columns
  return fitColumns(columns.toSpliced(last, 1), rows, width)
}

const lineWidth = (widths: readonly number[]): number =>
  widths.reduce((sum, one) => sum + one, GAP.length * (widths.length - 1))

function layOut<Row>(columns: readonly Column<Row>[], cells: readonly string[], widths: readonly number[]): string[] {
  return cells.map((cell, at) => {
    const width = widths[at] ?? 0
    const text = truncateText(cell, width)
    const padding = ' '.repeat(Math.max(0, width - displayWidth(text)))
    if (columns[at]?.align === 'right') return `${padding}${text}`
    return at === cells.length - 1 ? text : `${text}${padding}`
  })
}

/** Narrows the widest flexible column step by step until the line fits. Other columns stay unchanged. */
function fitWidths<Row>(columns: readonly Column<Row>[], natural: readonly number[], width: number): number[] {
  const widths = [...natural]
  let excess = lineWidth(widths) - width
  while (excess > 0) {
    const widest = widestFlexible(columns, widths)
    if (widest === undefined) break
    widths[widest] = (widths[widest] ?? 0) - 1
    excess--
  }
  return widths
}

function widestFlexible<Row>(columns: readonly Column<Row>[], widths: readonly number[]): number | undefined {
  let best: number | undefined
  for (const [at, column] of columns.entries()) {
    const width = widths[at] ?? 0
    if (column.flexible && width > MIN_WIDTH && (best === undefined || width > (widths[best] ?? 0))) best = at
  }
  return best
}

export interface Fact {
  readonly name: string
  readonly value: string | undefined
}

/** Names and values below each other; a value of several lines is indented under its first. */
export function renderFacts(facts: readonly Fact[], style: Style = PLAIN): string {
  const known = facts.filter((fact): fact is { name: string; value: string } => fact.value !== undefined)
  const width = Math.max(0, ...known.map(({ name }) => displayWidth(name)))
  const indent = `\n${' '.repeat(width + GAP.length)}`
  return known
    .map(({ name, value }) => `${style.dim(name.padEnd(width))}${GAP}${value.replaceAll('\n', indent)}\n`)
    .join('')
}
