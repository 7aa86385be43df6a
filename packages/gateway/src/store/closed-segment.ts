import { closeSync, fstatSync, openSync } from 'node:fs'
import { lastNewline, readAt } from './line-reader.ts'
import { parseRecord } from './record-line.ts'

/** A file of the log that is not written to any more. */
export interface ClosedSegment {
  readonly path: string
  readonly bytes: number
  /** When its newest record was written; by the file's own time where no record tells. */
  readonly newest: number
}

export function measureSegment(path: string): ClosedSegment {
  const fd = openSync(path, 'r')
  try {
    const { size, mtimeMs } = fstatSync(fd)
    const end = lastNewline(fd, size)
    const start = lastNewline(fd, end) + 1
    const time = Date.parse(parseRecord(readAt(fd, start, Math.max(0, end - start)).toString())?.time ?? '')
    return { path, bytes: size, newest: Number.isNaN(time) ? mtimeMs : time }
  } finally {
    closeSync(fd)
  }
}
