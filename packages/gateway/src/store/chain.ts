import { hash } from 'node:crypto'
import type { LogHead } from './log-head.ts'
import type { EventText } from './records.ts'

/** What the chain has come to before its first record. */
export const CHAIN_START = '0'.repeat(64)

/** The records of one write as they are written, and what the chain has come to with them. */
export interface SealedWrite {
  /** They stay what they are until the next write is sealed. */
  readonly bytes: Buffer
  readonly chain: string
}

/** What a write follows. */
export interface ChainLinks {
  readonly chain: string
  /** Records behind `chain` that a write cut short left without a value of their own. */
  readonly open: string
}

/** What the chain of an open log has come to, and which records it has not reached yet. */
export interface ChainEnd extends LogHead, ChainLinks {
  /** A reader may begin with the next record, so that one says what it follows. */
  readonly isStated: boolean
}

const END = '}\n'
const SEAL = /,"chain":"([0-9a-f]{64})"\}$/
const SEAL_LENGTH = 76
const SEALS = /,"chain":"[0-9a-f]{64}"\}\n/g
const HEAD = /^\{"seq":([1-9]\d{0,15}),"time":"([^"\\]{0,40})"(?:,"after":"([0-9a-f]{64})")?,/
const HEAD_LENGTH = 170

/** Nearly every write has room in it. */
const WRITE_BUFFER = Buffer.allocUnsafeSlow(65_536)
const MAX_BYTES_PER_CHARACTER = 3

/** One hash for all records of a write: the last of them gets the value, which covers them all and everything before. */
export function sealWrite(lines: string, { chain: before, open }: ChainLinks): SealedWrite {
  const most = (before.length + open.length + lines.length) * MAX_BYTES_PER_CHARACTER + SEAL_LENGTH
  // Printed once, and hashed and written from there: of texts each would make a copy first.
  const room = most <= WRITE_BUFFER.length ? WRITE_BUFFER : Buffer.allocUnsafe(most)
  const start = room.write(open === '' ? before : before + open)
  const end = start + room.write(lines, start) - END.length
  const chain = hash('sha256', room.subarray(0, end))
  const length = end + room.write(`,"chain":"${chain}"${END}`, end, 'latin1')
  return { bytes: room.subarray(start, length), chain }
}

/** The first record of a file says what it follows, so that the file can be verified without the one before it. */
export function withPreviousChain({ members }: EventText, before: string): EventText {
  return { members: `"after":"${before}",${members}` }
}

/** Records that were sealed in another file, sealed again as one write that says what it follows. */
export function resealWrite(text: string, before: string): SealedWrite {
  const bare = text.replaceAll(SEALS, END).replace(HEAD, `{"seq":$1,"time":"$2","after":"${before}",`)
  return sealWrite(bare, { chain: before, open: '' })
}

/** What stands before the event itself in a line that the log wrote. */
export interface LineHead {
  readonly seq: number
  readonly time: string
  readonly after: string | undefined
}

/** Undefined: the log did not write this line. */
export function parseLineHead(line: Buffer): LineHead | undefined {
  const match = HEAD.exec(line.toString('latin1', 0, HEAD_LENGTH))
  return match === null ? undefined : { seq: Number(match[1]), time: String(match[2]), after: match[3] }
}

/** The value that a line states, and where its own text ends. */
export function parseSeal(line: Buffer): { readonly chain: string; readonly at: number } | undefined {
  const at = Math.max(0, line.length - SEAL_LENGTH)
  const match = SEAL.exec(line.toString('latin1', at))
  return match === null ? undefined : { chain: String(match[1]), at }
}
