import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { causeCode } from '../disk/disk.ts'

/** One file of the log. Its name contains its first number, so that even an empty file states where the count is. */
export interface Segment {
  readonly firstSeq: number
  readonly path: string
}

/** A position in the log: byte `offset` of the segment that begins with number `file`. */
export interface Position {
  readonly file: number
  readonly offset: number
}

const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR'])
const NAME = /^events-(\d{12,15})\.jsonl$/

export function segmentAt(folder: string, firstSeq: number): Segment {
  return { firstSeq, path: join(folder, `events-${String(firstSeq).padStart(12, '0')}.jsonl`) }
}

/** All segments of the folder, oldest first; empty if the folder was removed. */
export function listSegments(folder: string): readonly Segment[] {
  const found: Segment[] = []
  for (const name of listNames(folder)) {
    const match = NAME.exec(name)
    if (match !== null) found.push({ firstSeq: Number(match[1]), path: join(folder, name) })
  }
  return found.sort((a, b) => a.firstSeq - b.firstSeq)
}

export function isAfter(a: Position, b: Position): boolean {
  return a.file > b.file || (a.file === b.file && a.offset > b.offset)
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (cause) {
    if (GONE.has(causeCode(cause))) return []
    throw cause
  }
}
