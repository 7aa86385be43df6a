import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, dirname } from 'node:path'
import { type LoggedEvent, SallyportError, type SallyportEvent } from '@sallyport/core'
import { causeCode, diskFix, diskReason, makePrivateFolder, stateUnusable, syncFolder } from '../disk/disk.ts'
import { GroupSync } from './group-sync.ts'
import { readAt } from './line-reader.ts'
import { findTail, type LogTail } from './log-tail.ts'
import { formatRecord } from './record-line.ts'
import type { EventLog } from './records.ts'
import { listSegments, type Position, type Segment, segmentAt } from './segment.ts'
import { Watchers } from './watchers.ts'

export interface EventLogOptions {
  readonly folder: string
  readonly durability: 'process' | 'power'
  readonly now: () => Date
  /** A segment that has grown so large is followed by a new one. */
  readonly segmentBytes?: number
}

const SEGMENT_BYTES = 64 * 1024 * 1024
/** With `process` a power cut may cost 50 ms of records: this, and the sync itself. */
const SYNC_DELAY = { process: 40, power: 0 } as const
/** So old may the knowledge be that the file still has its name. What was written since is still in our hands. */
const NAMED_FOR = 40
const { O_RDWR, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW } = constants

/** Opens the log for its one writer, and cuts off what a crash tore. */
export function openEventLog(options: EventLogOptions): SegmentedLog {
  makePrivateFolder(options.folder)
  const segments = listSegments(options.folder)
  const segment = segments.at(-1) ?? segmentAt(options.folder, 1)
  let fd: number | undefined
  try {
    fd = openSegment(segment)
    const tail = findTail(fd, segment.path)
    if (tail.tornBytes > 0) ftruncateSync(fd, tail.end)
    if (segments.length === 0) syncFolder(options.folder)
    return new SegmentedLog(options, { segment, fd, tail })
  } catch (cause) {
    if (fd !== undefined) closeSync(fd)
    throw stateUnusable(segment.path, cause)
  }
}

interface OpenedSegment {
  readonly segment: Segment
  readonly fd: number
  readonly tail: LogTail
}

/** The log as files of bounded size. A record is one write to a file in append mode: `kill -9` loses none that `append` returned for. */
export class SegmentedLog implements EventLog {
  readonly folder: string
  /** Where the log ended when it was opened: an index that knows more than this knows what a power cut took. */
  readonly startedAt: Position
  readonly #now: () => Date
  readonly #segmentBytes: number
  readonly #watchers = new Watchers()
  readonly #sync: GroupSync
  #segment: Segment
  #fd: number
  #size: number
  #nextSeq: number
  /** Up to here the file was seen under its name: what stands behind would be lost with the name. */
  #named: NamedUpTo
  /** The folder of the folder: another one in its place may be another gateway's. */
  readonly #around: BigIntStats
  /** Bytes of a failed write may stand behind the last whole record. */
  #torn = false
  /** The file lost a sync: nothing more is written to it. */
  #abandoned = false
  #owed: SallyportEvent | undefined
  #closed = false

  constructor(options: EventLogOptions, { segment, fd, tail }: OpenedSegment) {
    this.folder = options.folder
    this.startedAt = { file: segment.firstSeq, offset: tail.end }
    this.#now = options.now
    this.#segmentBytes = options.segmentBytes ?? SEGMENT_BYTES
    this.#segment = segment
    this.#fd = fd
    this.#size = tail.end
    this.#nextSeq = Math.max(segment.firstSeq, (tail.lastSeq ?? 0) + 1)
    this.#named = { seq: this.#nextSeq, size: this.#size, at: performance.now() }
    this.#around = statSync(dirname(options.folder), { bigint: true })
    this.#sync = new GroupSync({ fd, delay: SYNC_DELAY[options.durability], onFailure: () => this.#abandon() })
    if (tail.tornBytes > 0) this.#repaired(tail.tornBytes)
  }

  append(event: SallyportEvent): void {
    if (this.#closed) throw new SallyportError('AUDIT_UNAVAILABLE', 'The event log is closed: the gateway is stopping.')
    if (this.#owed !== undefined) this.#payOwed(this.#owed)
    this.#write(event)
  }

  watch(listener: (event: LoggedEvent) => void): () => void {
    return this.#watchers.add(listener)
  }

  sync(): Promise<void> {
    return this.#sync.sync()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#keepNameAtEnd()
    this.#closed = true
    await this.#sync.close()
  }

  #write(event: SallyportEvent): void {
    this.#prepare()
    const logged: LoggedEvent = { seq: this.#nextSeq, time: this.#now().toISOString(), ...event }
    const bytes = formatRecord(logged)
    this.#writeWhole(bytes)
    this.#size += bytes.length
    this.#nextSeq++
    this.#sync.wrote()
    this.#watchers.tell(logged)
  }

  /** One system call, but for a disk that takes only a part: going on tells why, or gets the rest in. */
  #writeWhole(bytes: Buffer): void {
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(this.#fd, bytes, written)
    } catch (cause) {
      this.#torn = true
      this.#cutTorn()
      throw unavailable(this.#segment.path, cause)
    }
  }

  #prepare(): void {
    if (this.#torn && !this.#cutTorn())
      throw unavailable(this.#segment.path, new Error('the rest of a failed write cannot be removed'))
    if (performance.now() - this.#named.at > NAMED_FOR) this.#keepName()
    if (this.#size >= this.#segmentBytes || this.#abandoned) this.#startSegment()
  }

  /** A file without its name takes every record and keeps none: what it took since it was last seen goes into a new one. */
  #keepName(): void {
    if (!isNamed(this.#fd, this.#segment.path)) this.#replaceLost()
    this.#named = { seq: this.#nextSeq, size: this.#size, at: performance.now() }
  }

  #keepNameAtEnd(): void {
    try {
      if (this.#size > this.#named.size) this.#keepName()
    } catch {
      // Nobody waits for these records any more, and there is no place for them.
    }
  }

  #replaceLost(): void {
    const segment = segmentAt(this.folder, this.#named.seq)
    try {
      const rescued = readAt(this.#fd, this.#named.size, this.#size - this.#named.size)
      makeAgain(this.folder, this.#around)
      this.#moveTo(segment, createSegment(this.folder, segment, rescued))
      this.#size = rescued.length
    } catch (cause) {
      throw unavailable(segment.path, cause)
    }
  }

  #cutTorn(): boolean {
    try {
      ftruncateSync(this.#fd, this.#size)
      this.#torn = false
    } catch {
      // Shrinking needs no space; where even that fails the next append tries again before it writes.
    }
    return !this.#torn
  }

  /** A new segment that cannot be made (no free inode, no descriptor) is no reason to refuse a record: the old one takes it. */
  #startSegment(): void {
    const segment = segmentAt(this.folder, this.#nextSeq)
    if (segment.firstSeq === this.#segment.firstSeq) return
    try {
      this.#moveTo(segment, createSegment(this.folder, segment))
    } catch {
      return
    }
    this.#named = { seq: this.#nextSeq, size: 0, at: performance.now() }
  }

  #moveTo(segment: Segment, fd: number): void {
    this.#sync.moveTo(fd)
    this.#segment = segment
    this.#fd = fd
    this.#size = 0
    this.#abandoned = false
  }

  #abandon(): void {
    this.#abandoned = true
  }

  #repaired(bytes: number): void {
    const event = { type: 'LOG_REPAIRED', file: basename(this.#segment.path), dropped_bytes: bytes } as const
    try {
      this.#write(event)
    } catch {
      // A full disk must not keep the gateway from starting: the note is written as soon as anything can be.
      this.#owed = event
    }
  }

  #payOwed(event: SallyportEvent): void {
    this.#owed = undefined
    try {
      this.#write(event)
    } catch (error) {
      this.#owed = event
      throw error
    }
  }
}

const openSegment = ({ path }: Segment): number => openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600)

interface NamedUpTo {
  readonly seq: number
  readonly size: number
  readonly at: number
}

/** Where the path cannot be looked at, a new file cannot be made either, and that says why. */
function isNamed(fd: number, path: string): boolean {
  try {
    return isSame(lstatSync(path, { bigint: true }), fstatSync(fd, { bigint: true }))
  } catch {
    return false
  }
}

const isSame = (a: BigIntStats, b: BigIntStats): boolean => a.dev === b.dev && a.ino === b.ino

/** Only where the log was before: whoever took the whole state away took its lock away too, and another may hold that. */
function makeAgain(folder: string, around: BigIntStats): void {
  const parent = dirname(folder)
  if (!isSame(statSync(parent, { bigint: true }), around)) throw new Error(`${parent} is another folder than before`)
  try {
    mkdirSync(folder, { mode: 0o700 })
    syncFolder(parent)
  } catch (cause) {
    if (causeCode(cause) !== 'EEXIST') throw cause
  }
}

/** It must not stay behind when it cannot be used: its name claims the numbers that the old segment goes on with. */
function createSegment(folder: string, segment: Segment, content: Uint8Array = new Uint8Array()): number {
  const fd = openSync(segment.path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    for (let written = 0; written < content.length; ) written += writeSync(fd, content, written)
    syncFolder(folder)
    return fd
  } catch (cause) {
    closeSync(fd)
    rmSync(segment.path, { force: true })
    throw cause
  }
}

function unavailable(path: string, cause: unknown): SallyportError {
  return new SallyportError('AUDIT_UNAVAILABLE', `The event log ${path} cannot be written: ${diskReason(cause)}.`, {
    hint: `${diskFix(cause)} Recording goes on by itself once that is done.`,
    cause,
  })
}
