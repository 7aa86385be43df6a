import { closeSync, openSync, readSync } from 'node:fs'

/** A complete line of a file, without its newline. */
export interface Line {
  readonly offset: number
  readonly length: number
  readonly text: string
}

export interface ByteLine {
  readonly offset: number
  readonly bytes: Buffer
}

const NEWLINE = 0x0a
const CHUNK = 64 * 1024

/** The complete lines from an offset on. A last line without a newline is not complete yet. */
export function* readLines(path: string, from: number): Generator<Line, void, undefined> {
  for (const { offset, bytes } of readByteLines(path, from))
    yield { offset, length: bytes.length, text: bytes.toString() }
}

/** The same as bytes, for callers that must not lose bytes that are invalid UTF-8. */
export function* readByteLines(path: string, from: number): Generator<ByteLine, void, undefined> {
  const fd = openSync(path, 'r')
  try {
    let offset = from
    let wanted = CHUNK
    for (;;) {
      const bytes = readAt(fd, offset, wanted)
      const used = yield* splitLines(bytes, offset)
      if (bytes.length < wanted) return
      offset += used
      // A line longer than the chunk: doubling keeps the work linear in its length.
      wanted = used === 0 ? wanted * 2 : CHUNK
    }
  } finally {
    closeSync(fd)
  }
}

function* splitLines(bytes: Buffer, offset: number): Generator<ByteLine, number, undefined> {
  let start = 0
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    yield { offset: offset + start, bytes: bytes.subarray(start, end) }
    start = end + 1
  }
  return start
}

/** Reads up to `length` bytes; fewer only at the end of the file. */
export function readAt(fd: number, offset: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const count = readSync(fd, bytes, filled, length - filled, offset + filled)
    if (count === 0) break
    filled += count
  }
  return bytes.subarray(0, filled)
}

/** The offset of the last newline before `end`, or -1. */
export function lastNewline(fd: number, end: number): number {
  for (let upTo = end; upTo > 0; upTo -= CHUNK) {
    const from = Math.max(0, upTo - CHUNK)
    const at = readAt(fd, from, upTo - from).lastIndexOf(NEWLINE)
    if (at >= 0) return from + at
  }
  return -1
}
