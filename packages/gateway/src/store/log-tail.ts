import { fstatSync } from 'node:fs'
import { parseLineHead, parseSeal } from './chain.ts'
import { lastNewline, readAt, readByteLines } from './line-reader.ts'
import { parseRecord } from './record-line.ts'

/** Where the last whole record of a segment ends. What stands after it was torn by a crash. */
export interface LogTail {
  readonly end: number
  /** Undefined: the segment holds no record. */
  readonly lastSeq: number | undefined
  readonly tornBytes: number
  /** Undefined: no record of the segment says anything about the chain. */
  readonly sealed: SealedUpTo | undefined
}

/** How far the chain reaches. Whole records behind it are those of a write that was cut short. */
export interface SealedUpTo {
  readonly chain: string
  readonly end: number
  readonly seq: number
}

export function findTail(fd: number, path: string): LogTail {
  const size = fstatSync(fd).size
  const newline = lastNewline(fd, size)
  const before = lastNewline(fd, newline)
  const line = newline < 0 ? Buffer.alloc(0) : readAt(fd, before + 1, newline - before - 1)
  const last = parseRecord(line.toString())
  const chain = parseSeal(line)?.chain
  if (last === undefined || chain === undefined) return searchForward(path, size)
  const end = newline + 1
  return { end, lastSeq: last.seq, tornBytes: size - end, sealed: { chain, end, seq: last.seq } }
}

/** Only after a crash, after real damage such as blocks of zeros that a power cut left, and in files without a chain: linear, whatever the garbage is. */
function searchForward(path: string, size: number): LogTail {
  let end = 0
  let lastSeq: number | undefined
  let sealed: SealedUpTo | undefined
  for (const { offset, bytes } of readByteLines(path, 0)) {
    const record = parseRecord(bytes.toString())
    if (record === undefined) continue
    const after = parseLineHead(bytes)?.after
    if (after !== undefined) sealed = { chain: after, end: offset, seq: record.seq - 1 }
    end = offset + bytes.length + 1
    lastSeq = record.seq
    const chain = parseSeal(bytes)?.chain
    if (chain !== undefined) sealed = { chain, end, seq: lastSeq }
  }
  return { end, lastSeq, tornBytes: size - end, sealed }
}
