import { StringDecoder } from 'node:string_decoder'
import { nextRecordStart, readCell, recordEnd, splitCells } from '@sallyport/core'
import type { OpenFile } from '../workspace/workspace.ts'
import { refusal } from './source.ts'

const QUOTE = 0x22
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const CHUNK_BYTES = 256 * 1024
/** A quotation mark that is never closed would make one record of all that follows. */
const MAX_RECORD_LENGTH = 4 * 1024 * 1024
const BOM = Buffer.from('\ufeff')

/**
 * The records of a file, as RFC 4180 has them: quoted fields may hold delimiters and line breaks. LF, CRLF and CR end a
 * record; empty lines are none. No more is held than one chunk and one record.
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
      // Of what reaches the end, more may follow: a second quotation mark, or the other half of a line break.
      if (end < 0 || (end + 1 >= held.length && !isLast)) break
      if (end > start) yield readFields(held, { start, end }, delimiter)
    }
    held = held.slice(start)
    if (held.length > MAX_RECORD_LENGTH)
      throw refusal(`A record is over ${MAX_RECORD_LENGTH} characters long: perhaps a quotation mark is never closed.`)
  }
  if (held.length > 0) throw refusal('A quotation mark in the last record is never closed.')
}

async function skipBom(file: OpenFile): Promise<number> {
  const length = BOM.length
  return (await file.read(0, length)).equals(BOM) ? length : 0
}

function readFields(text: string, record: { start: number; end: number }, delimiter: number): readonly string[] {
  const { cells } = splitCells(text, record, { delimiter, most: Number.POSITIVE_INFINITY })
  return cells.map((cell) => readCell(text, cell))
}

const DELIMITERS = [',', ';', '\t', '|'] as const
const SAMPLE_BYTES = 64 * 1024

/** The candidate that parts the first record into most fields. */
export async function detectDelimiter(file: OpenFile): Promise<number> {
  const start = await skipBom(file)
  const text = (await file.read(start, SAMPLE_BYTES)).toString()
  let best = { code: DELIMITERS[0].charCodeAt(0), fields: 1 }
  for (const candidate of DELIMITERS) {
    const code = candidate.charCodeAt(0)
    const end = recordEnd(text, 0, code)
    const fields = end < 0 ? 0 : splitCells(text, { start: 0, end }, { delimiter: code, most: 0 }).count
    if (fields > best.fields) best = { code, fields }
  }
  return best.code
}

export function parseDelimiter(delimiter: string): number {
  const code = delimiter.charCodeAt(0)
  const isFit = delimiter.length === 1 && code < 0x80 && ![QUOTE, LINE_FEED, CARRIAGE_RETURN, 0].includes(code)
  if (!isFit) throw refusal(`The delimiter is ${JSON.stringify(delimiter.slice(0, 8))}; expected one ASCII character.`)
  return code
}
