import { hash } from 'node:crypto'
import type { LogHead } from './log-head.ts'
import type { EventText } from './records.ts'

/** The chain value before the first record. */
export const CHAIN_START = '0'.repeat(64)

/** The bytes of one write, and the chain value after it. */
export interface SealedWrite {
  /** Valid until the next write is sealed: they may be in a shared buffer. */
  readonly bytes: Buffer
  readonly chain: string
}

/** What a write continues. */
export interface ChainLinks {
  readonly chain: string
  /** Records after `chain` that an interrupted write left without a chain value of their own. */
  readonly open: string
}

/** The chain value at the end of an open log, and the records that it does not cover yet. */
export interface ChainEnd extends LogHead, ChainLinks {
  /** True if a reader may begin with the next record: then that record must state what it follows. */
  readonly mustStatePrevious: boolean
}

const END = '}\n'
const SEAL = /,"chain":"([0-9a-f]{64})"\}$/
const SEAL_LENGTH = 76
const SEALS = /,"chain":"[0-9a-f]{64}"\}\n/g
const HEAD = /^\{"seq":([1-9]\d{0,15}),"time":"([^"\\]{0,40})"(?:,"after":"([0-9a-f]{64})")?,/
const HEAD_LENGTH = 170

/** Large enough for nearly every write. */
const WRITE_BUFFER = Buffer.allocUnsafeSlow(65_536)
const MAX_BYTES_PER_CHARACTER = 3

/**
 * Makes one hash for all records of a write. The last record gets the value, which covers the write and everything
 * before it.
 */
export function sealWrite(lines: string, { chain: before, open }: ChainLinks): SealedWrite {
  const maxBytes = (before.length + open.length + lines.length) * MAX_BYTES_PER_CHARACTER + SEAL_LENGTH
  // Encoded once, then hashed and written from the same buffer: with strings, each of the two would make a copy first.
  const buffer = maxBytes <= WRITE_BUFFER.length ? WRITE_BUFFER : Buffer.allocUnsafe(maxBytes)
  const start = buffer.write(open === '' ? before : before + open)
  const end = start + buffer.write(lines, start) - END.length
  const chain = hash('sha256', buffer.subarray(0, end))
  const length = end + buffer.write(`,"chain":"${chain}"${END}`, end, 'latin1')
  return { bytes: buffer.subarray(start, length), chain }
}

/** Adds to the first record of a file what it follows, so that the file can be verified without the previous one. */
export function withPreviousChain({ members }: EventText, before: string): EventText {
  return { members: `"after":"${before}",${members}` }
}

/** Seals records of another file again, as one write whose first record states what it follows. */
export function resealWrite(text: string, before: string): SealedWrite {
  const bare = text.replaceAll(SEALS, END).replace(HEAD, `{"seq":$1,"time":"$2","after":"${before}",`)
  return sealWrite(bare, { chain: before, open: '' })
}

/** The members before the event itself in a line of the log. */
export interface LineHead {
  readonly seq: number
  readonly time: string
  readonly after: string | undefined
}

/** `undefined` if the log did not write this line. */
export function parseLineHead(line: Buffer): LineHead | undefined {
  const match = HEAD.exec(line.toString('latin1', 0, HEAD_LENGTH))
  return match === null ? undefined : { seq: Number(match[1]), time: String(match[2]), after: match[3] }
}

/** The chain value in a line, and the offset where it begins. */
export function parseSeal(line: Buffer): { readonly chain: string; readonly at: number } | undefined {
  const at = Math.max(0, line.length - SEAL_LENGTH)
  const match = SEAL.exec(line.toString('latin1', at))
  return match === null ? undefined : { chain: String(match[1]), at }
}
