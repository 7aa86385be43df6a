import type { OpenFile } from '../workspace/workspace.ts'
import { refusal } from './source.ts'

const QUOTE = 0x22
const LINE_FEED = 0x0a
const RETURN = 0x0d
const CHUNK = 256 * 1024
/** A quotation mark that is never closed would make one record of all that follows. */
const MOST_RECORD_BYTES = 4 * 1024 * 1024
const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/** Where a record ends in the bytes at hand. */
interface RecordEnd {
  /** Behind the last field. */
  readonly end: number
  /** Behind the line break. */
  readonly next: number
}

/**
 * The records of a file, as RFC 4180 has them: quoted fields may hold delimiters and line breaks. LF, CRLF and CR end a
 * record; empty lines are none. No more is held than one chunk and one record.
 */
export async function* readRecords(file: OpenFile, delimiter: number): AsyncGenerator<readonly string[]> {
  let held: Buffer = Buffer.alloc(0)
  let at = await skipMark(file)
  for (let isLast = false; !isLast; ) {
    const chunk = await file.read(at, Math.min(CHUNK, Math.max(0, file.size - at)))
    at += chunk.length
    isLast = chunk.length === 0
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    let start = 0
    for (let found = findEnd(held, start, { delimiter, isLast }); found; ) {
      if (found.end > start) yield readFields(held, { start, end: found.end }, delimiter)
      start = found.next
      found = start < held.length ? findEnd(held, start, { delimiter, isLast }) : undefined
    }
    held = held.subarray(start)
    if (held.length > MOST_RECORD_BYTES)
      throw refusal(`A record is over ${MOST_RECORD_BYTES} bytes long: perhaps a quotation mark is never closed.`)
  }
  if (held.length > 0) throw refusal('A quotation mark in the last record is never closed.')
}

async function skipMark(file: OpenFile): Promise<number> {
  const length = BYTE_ORDER_MARK.length
  return (await file.read(0, length)).equals(BYTE_ORDER_MARK) ? length : 0
}

interface Reading {
  readonly delimiter: number
  /** Whether nothing follows the bytes at hand. */
  readonly isLast: boolean
}

/** Nothing while the record may go on in bytes that are not there yet, or where a quotation mark is never closed. */
function findEnd(bytes: Buffer, from: number, { delimiter, isLast }: Reading): RecordEnd | undefined {
  let at = from
  while (at < bytes.length) {
    if (bytes[at] === QUOTE) {
      at = behindQuotes(bytes, at)
      // The mark at the very end may be the first of two.
      if (at < 0 || (at >= bytes.length && !isLast)) return undefined
    }
    while (at < bytes.length && bytes[at] !== delimiter && bytes[at] !== LINE_FEED && bytes[at] !== RETURN) at++
    if (at >= bytes.length) break
    if (bytes[at] !== delimiter) return breakAt(bytes, at, isLast ? 'last' : 'more')
    at++
  }
  return isLast && from < bytes.length ? { end: bytes.length, next: bytes.length } : undefined
}

function breakAt(bytes: Buffer, at: number, rest: 'last' | 'more'): RecordEnd | undefined {
  if (bytes[at] === LINE_FEED) return { end: at, next: at + 1 }
  if (at + 1 === bytes.length && rest === 'more') return undefined
  return { end: at, next: bytes[at + 1] === LINE_FEED ? at + 2 : at + 1 }
}

/** Behind the mark that closes, -1 where there is none; two of them are one that is meant. */
function behindQuotes(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(QUOTE, from + 1)
  while (at >= 0 && bytes[at + 1] === QUOTE) at = bytes.indexOf(QUOTE, at + 2)
  return at < 0 ? -1 : at + 1
}

function readFields(bytes: Buffer, range: { start: number; end: number }, delimiter: number): readonly string[] {
  const record = bytes.subarray(range.start, range.end)
  const fields: string[] = []
  let at = 0
  for (;;) {
    const start = at
    const quoted = record[at] === QUOTE ? behindQuotes(record, at) : at
    const end = record.indexOf(delimiter, quoted)
    at = end < 0 ? record.length : end
    fields.push(fieldText(record.subarray(start, at), quoted - start))
    if (end < 0) return fields
    at++
  }
}

/** What stands behind a closing quotation mark belongs to the field, as spreadsheets read it. */
function fieldText(bytes: Buffer, quoted: number): string {
  if (quoted === 0) return bytes.toString()
  return bytes.toString('utf8', 1, quoted - 1).replaceAll('""', '"') + bytes.toString('utf8', quoted)
}

const CANDIDATES = [',', ';', '\t', '|'] as const
const LOOKED_AT = 64 * 1024

/** The candidate that parts the first record into most fields. */
export async function detectDelimiter(file: OpenFile): Promise<number> {
  const start = await skipMark(file)
  const bytes = await file.read(start, LOOKED_AT)
  let best = { code: CANDIDATES[0].charCodeAt(0), fields: 1 }
  for (const candidate of CANDIDATES) {
    const code = candidate.charCodeAt(0)
    const found = findEnd(bytes, 0, { delimiter: code, isLast: true })
    const fields = found === undefined ? 0 : readFields(bytes, { start: 0, end: found.end }, code).length
    if (fields > best.fields) best = { code, fields }
  }
  return best.code
}

export function delimiterCode(delimiter: string): number {
  const code = delimiter.charCodeAt(0)
  const isFit = delimiter.length === 1 && code < 0x80 && ![QUOTE, LINE_FEED, RETURN, 0].includes(code)
  if (!isFit) throw refusal(`The delimiter is ${JSON.stringify(delimiter.slice(0, 8))}; expected one ASCII character.`)
  return code
}
