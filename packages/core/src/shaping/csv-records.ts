const QUOTE = 0x22
const LINE_FEED = 0x0a
const RETURN = 0x0d

/** The span of a cell, including its quotes. */
export interface Cell {
  readonly start: number
  readonly end: number
}

/**
 * The end of the record that begins at `from`: a line break (LF, CRLF or CR) outside quotes. As in RFC 4180, quotes
 * have a meaning only at the beginning of a cell. -1 if a quote is not closed.
 */
export function recordEnd(text: string, from: number, delimiter: number): number {
  let at = from
  for (;;) {
    if (text.charCodeAt(at) === QUOTE) at = closingQuote(text, at)
    if (at < 0) return -1
    at = plainCellEnd(text, at, delimiter)
    if (text.charCodeAt(at) !== delimiter) return at
    at++
  }
}

function plainCellEnd(text: string, from: number, delimiter: number): number {
  let at = from
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === delimiter || code === LINE_FEED || code === RETURN) return at
    at++
  }
  return at
}

/** The position after the closing quote. A doubled quote is a quote character. */
function closingQuote(text: string, from: number): number {
  let at = text.indexOf('"', from + 1)
  while (at >= 0 && text.charCodeAt(at + 1) === QUOTE) at = text.indexOf('"', at + 2)
  return at < 0 ? -1 : at + 1
}

/** The position after the line break that ends a record. */
export const nextRecordStart = (text: string, end: number): number =>
  text.charCodeAt(end) === RETURN && text.charCodeAt(end + 1) === LINE_FEED ? end + 2 : end + 1

/** Visits all records that are not empty. False if a quote is not closed. */
export function eachRecord(text: string, delimiter: number, visit: (start: number, end: number) => boolean): boolean {
  for (let start = 0; start < text.length; ) {
    const end = recordEnd(text, start, delimiter)
    if (end < 0) return false
    if (end > start && !visit(start, end)) return true
    start = nextRecordStart(text, end)
  }
  return true
}

/** The first `most` cells of a record, and the count of all. */
export function splitCells(
  text: string,
  { start, end }: Cell,
  { delimiter, maxCells }: { readonly delimiter: number; readonly maxCells: number },
): { readonly cells: readonly Cell[]; readonly count: number } {
  const cells: Cell[] = []
  let count = 0
  let at = start
  for (;;) {
    const from = at
    if (text.charCodeAt(at) === QUOTE) at = Math.min(closingQuote(text, at), end)
    at = Math.min(plainCellEnd(text, at, delimiter), end)
    if (count++ < maxCells) cells.push({ start: from, end: at })
    if (at >= end || text.charCodeAt(at) !== delimiter) return { cells, count }
    at++
  }
}

/** The value of a cell. As in spreadsheets, text after the closing quote belongs to it. */
export function readCell(text: string, { start, end }: Cell): string {
  if (text.charCodeAt(start) !== QUOTE) return text.slice(start, end)
  const quoted = Math.min(closingQuote(text, start), end)
  return text.slice(start + 1, quoted - 1).replaceAll('""', '"') + text.slice(quoted, end)
}
