import type { OpenFile } from '../workspace/workspace.ts'

export interface Line {
  /** Without its line break. For a long line, only the beginning. */
  readonly text: string
  /** Counted from 1, from the start of the reading. */
  readonly number: number
  readonly isCut: boolean
  /** The position after its line break. */
  readonly end: number
}

export interface LineRange {
  readonly from?: number
  /** Bytes after this are not read, so that a file that grows meanwhile has an end. */
  readonly to?: number
  /** Longer lines are shortened. */
  readonly lineBytes: number
}

const CHUNK_BYTES = 64 * 1024
const LINE_FEED = 0x0a

/** The lines of a file of any size. Only one chunk and the beginning of one line are in memory. */
export async function* readLines(file: OpenFile, range: LineRange): AsyncGenerator<Line> {
  const { from = 0, to = file.size, lineBytes } = range
  let pieces: Buffer[] = []
  let length = 0
  let number = 0
  const finish = (end: number): Line => {
    const bytes = Buffer.concat(pieces)
    const isCut = length > bytes.length
    const line = { text: decodeLine(bytes, isCut ? 'cut' : 'whole'), number: ++number, isCut, end }
    pieces = []
    length = 0
    return line
  }
  const keep = (bytes: Buffer): void => {
    const room = lineBytes - Math.min(length, lineBytes)
    if (room > 0) pieces.push(bytes.subarray(0, room))
    length += bytes.length
  }
  for (let at = from; at < to; ) {
    const chunk = await file.read(at, Math.min(CHUNK_BYTES, to - at))
    if (chunk.length === 0) break
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      keep(chunk.subarray(start, end))
      start = end + 1
      yield finish(at + start)
    }
    if (start < chunk.length) keep(chunk.subarray(start))
    at += chunk.length
  }
  if (length > 0) yield finish(to)
}

/** A character that the cut splits is left out. */
function decodeLine(bytes: Buffer, extent: 'cut' | 'whole'): string {
  const text = new TextDecoder().decode(bytes, { stream: extent === 'cut' })
  return text.endsWith('\r') ? text.slice(0, -1) : text
}

/** Finds where the last lines begin, from the end. `undefined` if more than `maxBytes` bytes would have to be read. */
export async function findTailStart(file: OpenFile, lines: number, maxBytes: number): Promise<number | undefined> {
  let missing = lines
  for (let end = file.size; end > 0; ) {
    const start = Math.max(0, end - CHUNK_BYTES)
    if (file.size - start > maxBytes) return undefined
    const chunk = await file.read(start, end - start)
    for (let at = chunk.lastIndexOf(LINE_FEED); at >= 0; at = at === 0 ? -1 : chunk.lastIndexOf(LINE_FEED, at - 1)) {
      // The line break at the end of the file does not begin another line.
      if (start + at + 1 === file.size) continue
      if (--missing === 0) return start + at + 1
    }
    end = start
  }
  return 0
}
