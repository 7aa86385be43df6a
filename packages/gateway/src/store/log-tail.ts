import { fstatSync } from 'node:fs'
import { lastNewline, readAt, readLines } from './line-reader.ts'
import { parseRecord } from './record-line.ts'

/** Where the last whole record of a segment ends. What stands after it was torn by a crash. */
export interface LogTail {
  readonly end: number
  /** Undefined: the segment holds no record. */
  readonly lastSeq: number | undefined
  readonly tornBytes: number
}

export function findTail(fd: number, path: string): LogTail {
  const size = fstatSync(fd).size
  const newline = lastNewline(fd, size)
  const before = lastNewline(fd, newline)
  const last = newline < 0 ? undefined : parseRecord(readAt(fd, before + 1, newline - before - 1).toString())
  if (last !== undefined) return { end: newline + 1, lastSeq: last.seq, tornBytes: size - newline - 1 }
  return searchForward(path, size)
}

/** Only after real damage, such as blocks of zeros that a power cut left: linear, whatever the garbage is. */
function searchForward(path: string, size: number): LogTail {
  let end = 0
  let lastSeq: number | undefined
  for (const line of readLines(path, 0)) {
    const record = parseRecord(line.text)
    if (record === undefined) continue
    end = line.offset + line.length + 1
    lastSeq = record.seq
  }
  return { end, lastSeq, tornBytes: size - end }
}
