import { type BigIntStats, ftruncateSync, statSync, writeSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { type LoggedEvent, SallyportError } from '@sallyport/core'
import { describeDiskError, suggestDiskFix } from '../disk/disk.ts'
import { type ChainEnd, resealWrite, sealWrite, withPreviousChain } from './chain.ts'
import { GroupSync } from './group-sync.ts'
import { readAt } from './line-reader.ts'
import type { LogHead } from './log-head.ts'
import { LogListeners } from './log-listeners.ts'
import { createTimePrinter, formatRecord, toEventText } from './record-line.ts'
import type { EventLog, EventText, Recordable } from './records.ts'
import { type Position, type Segment, segmentAt } from './segment.ts'
import { createSegment, isFileAt, recreateFolder } from './segment-file.ts'

/** Why a record could not be written; `undefined` if it was. */
type WriteOutcome = SallyportError | undefined

/** `undefined` if all of them are written. */
type Write = (events: readonly EventText[]) => readonly WriteOutcome[] | undefined

interface Waiter {
  readonly resolve: (outcome: WriteOutcome) => void
  readonly reject: (bug: unknown) => void
}

/** Collects the events of one turn of the event loop: one write takes them all, before any of their calls goes on. */
class BatchWriter {
  readonly #write: Write
  readonly #flush = (): void => this.flush()
  #events: EventText[] = []
  #waiters: Waiter[] = []

  constructor(write: Write) {
    this.#write = write
  }

  add(event: EventText): Promise<WriteOutcome> {
    return new Promise((resolve, reject) => {
      if (this.#events.push(event) === 1) setImmediate(this.#flush)
      this.#waiters.push({ resolve, reject })
    })
  }

  /** Writes everything that waits, now. */
  flush(): void {
    if (this.#events.length === 0) return
    const events = this.#events
    const waiters = this.#waiters
    this.#events = []
    this.#waiters = []
    try {
      const outcomes = this.#write(events)
      let at = 0
      for (const { resolve } of waiters) resolve(outcomes?.[at++])
    } catch (bug) {
      for (const { reject } of waiters) reject(bug)
    }
  }
}

export interface EventLogOptions {
  readonly folder: string
  readonly durability: 'process' | 'power'
  readonly now: () => Date
  /** When a segment reaches this size, the log continues in a new one. */
  readonly segmentBytes?: number
}

/** With `process` a power cut may lose 50 ms of records: this delay, plus the sync itself. */
const SYNC_DELAY_MS = { process: 40, power: 0 } as const
/**
 * The maximum age of the last check that the file still has its name. Records written since then can still be read from
 * the open file.
 */
const NAME_CHECK_INTERVAL_MS = 40

/** Where an opened log continues. */
export interface OpenedLog {
  readonly segment: Segment
  readonly fd: number
  readonly size: number
  readonly nextSeq: number
  readonly tornBytes: number
  readonly chain: ChainEnd
}

/**
 * The log as files of limited size, in append mode: `kill -9` loses no record for which `append` returned or
 * `appendSoon` resolved.
 */
export class SegmentedLog implements EventLog {
  readonly folder: string
  /**
   * Where the log ended when it was opened: an index that reaches further has rows of records that a power cut removed.
   */
  readonly startedAt: Position
  readonly #time: () => string
  #segmentBytes: number
  readonly #watchers = new LogListeners()
  readonly #writeListeners = new Set<(lines: Buffer) => void>()
  readonly #batch = new BatchWriter((events) => this.#writeAll(events))
  readonly #sync: GroupSync
  #segment: Segment
  #fd: number
  #size: number
  #nextSeq: number
  #chain: ChainEnd
  /**
   * The state at the last check that the file had its name: what was written later would be lost together with the
   * name.
   */
  #lastNameCheck: NameCheck
  /** The parent of the folder: if it is replaced, the new one may belong to another gateway. */
  readonly #parentStats: BigIntStats
  /** There may be bytes of a failed write after the last whole record. */
  #torn = false
  /** A sync of the file failed: nothing more is written to it. */
  #abandoned = false
  #pendingRepairEvent: EventText | undefined
  #closed = false
  failures = 0
  problem: SallyportError | undefined
  #onProblem: (problem: SallyportError | undefined) => void = () => {}
  #notifyGrowth = (): void => {}

  constructor(options: EventLogOptions, { segment, fd, size, nextSeq, tornBytes, chain }: OpenedLog) {
    this.folder = options.folder
    this.startedAt = { file: segment.firstSeq, offset: size }
    this.#time = createTimePrinter(options.now)
    this.#segmentBytes = options.segmentBytes ?? Number.POSITIVE_INFINITY
    this.#segment = segment
    this.#fd = fd
    this.#size = size
    this.#nextSeq = nextSeq
    this.#chain = chain
    this.#lastNameCheck = this.#createNameCheck()
    this.#parentStats = statSync(dirname(options.folder), { bigint: true })
    this.#sync = new GroupSync({ fd, delay: SYNC_DELAY_MS[options.durability], onFailure: () => this.#abandon() })
    if (tornBytes > 0) this.#recordRepair(tornBytes)
  }

  append(event: Recordable): void {
    this.#batch.flush()
    const failure = this.#attempt([toEventText(event)])
    if (failure === undefined) return
    this.failures++
    throw failure
  }

  appendSoon(event: Recordable): Promise<WriteOutcome> {
    return this.#batch.add(toEventText(event))
  }

  watch(listener: (event: LoggedEvent) => void): () => void {
    return this.#watchers.add(listener)
  }

  watchWrites(listener: (lines: Buffer) => void): () => void {
    this.#writeListeners.add(listener)
    return () => this.#writeListeners.delete(listener)
  }

  get lastSeq(): number {
    return this.#nextSeq - 1
  }

  /** Called after each write. Unlike `watch`, it costs nothing for each record. */
  onGrowth(listener: () => void): void {
    this.#notifyGrowth = listener
  }

  onProblem(listener: (problem: SallyportError | undefined) => void): void {
    this.#onProblem = listener
  }

  /** The segment that is being written. */
  get active(): Segment {
    return this.#segment
  }

  /** The size of the active segment. */
  get size(): number {
    return this.#size
  }

  limitSegments(bytes: number): void {
    this.#segmentBytes = bytes
  }

  /**
   * `undefined` while no record has a chain value, or if the file lost its name: the file at that path may belong to
   * another process.
   */
  head(): LogHead | undefined {
    this.#batch.flush()
    const { seq, chain } = this.#chain
    return seq > 0 && isFileAt(this.#fd, this.#segment.path) ? { seq, chain } : undefined
  }

  sync(): Promise<void> {
    return this.#sync.sync()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#batch.flush()
    this.#ensureNamedAtClose()
    this.#closed = true
    await this.#sync.close()
  }

  /** Uses one write. If it fails, each record is tried alone, so that only those fail that cannot be written. */
  #writeAll(events: readonly EventText[]): readonly WriteOutcome[] | undefined {
    const failure = this.#attempt(events)
    if (failure === undefined) return undefined
    const outcomes = events.length === 1 ? [failure] : events.map((event) => this.#attempt([event]))
    this.failures += outcomes.filter((outcome) => outcome !== undefined).length
    return outcomes
  }

  #attempt(events: readonly EventText[]): WriteOutcome {
    try {
      if (this.#closed)
        return new SallyportError('AUDIT_UNAVAILABLE', 'The event log is closed: the gateway is stopping.')
      if (this.#pendingRepairEvent !== undefined) this.#writeRepairEvent(this.#pendingRepairEvent)
      this.#write(events)
      this.#setProblem(undefined)
      return undefined
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error
      this.#setProblem(error)
      return error
    }
  }

  #setProblem(problem: SallyportError | undefined): void {
    const isChange = (this.problem === undefined) !== (problem === undefined)
    this.problem = problem
    if (isChange) this.#onProblem(problem)
  }

  #write(events: readonly EventText[]): void {
    this.#prepare()
    const time = this.#time()
    const before = this.#chain
    let seq = this.#nextSeq
    let lines = ''
    for (const event of events) {
      const isFirst = lines === '' && before.mustStatePrevious
      lines += formatRecord(isFirst ? withPreviousChain(event, before.chain) : event, seq++, time)
    }
    const { bytes, chain } = sealWrite(lines, before)
    this.#writeWhole(bytes)
    this.#size += bytes.length
    this.#nextSeq = seq
    this.#chain = { seq: this.#nextSeq - 1, chain, open: '', mustStatePrevious: false }
    this.#sync.markWritten()
    for (const listener of this.#writeListeners) listener(bytes)
    this.#watchers.notify(bytes)
    this.#notifyGrowth()
  }

  /** One system call, unless the disk takes only a part: the next attempt writes the rest or throws the reason. */
  #writeWhole(bytes: Buffer): void {
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(this.#fd, bytes, written)
    } catch (cause) {
      this.#torn = true
      this.#cutTorn()
      throw logUnavailable(cause)
    }
  }

  #prepare(): void {
    if (this.#torn && !this.#cutTorn()) throw logUnavailable(new Error('the rest of a failed write cannot be removed'))
    if (performance.now() - this.#lastNameCheck.at > NAME_CHECK_INTERVAL_MS) this.#ensureNamed()
    // Records without a chain value get it in their own file.
    if ((this.#size >= this.#segmentBytes && this.#chain.open === '') || this.#abandoned) this.#startSegment()
  }

  /** A file without a name loses everything written to it: the records since the last check go into a new file. */
  #ensureNamed(): void {
    if (!isFileAt(this.#fd, this.#segment.path)) this.#replaceLostFile()
    this.#lastNameCheck = this.#createNameCheck()
  }

  #createNameCheck(): NameCheck {
    return { seq: this.#nextSeq, size: this.#size, chain: this.#chain, at: performance.now() }
  }

  #ensureNamedAtClose(): void {
    try {
      if (this.#size > this.#lastNameCheck.size) this.#ensureNamed()
    } catch {
      // Nobody waits for these records any more, and there is nowhere to write them.
    }
  }

  #replaceLostFile(): void {
    const segment = segmentAt(this.folder, this.#lastNameCheck.seq)
    try {
      const rescued = this.#resealLost()
      recreateFolder(this.folder, this.#parentStats)
      this.#moveTo(segment, createSegment(this.folder, segment, rescued.bytes))
      this.#size = rescued.bytes.length
      this.#chain = rescued.chain
    } catch (cause) {
      throw logUnavailable(cause)
    }
  }

  /** The previous file may be gone: the records are sealed again, after the last chain value that was checked. */
  #resealLost(): { readonly bytes: Uint8Array; readonly chain: ChainEnd } {
    const { size, chain: before } = this.#lastNameCheck
    const bytes = readAt(this.#fd, size, this.#size - size)
    if (bytes.length === 0) return { bytes, chain: { ...before, open: '', mustStatePrevious: true } }
    const sealed = resealWrite(bytes.toString(), before.chain)
    return { bytes: sealed.bytes, chain: { ...this.#chain, chain: sealed.chain } }
  }

  #cutTorn(): boolean {
    try {
      ftruncateSync(this.#fd, this.#size)
      this.#torn = false
    } catch {
      // Truncating needs no space; if even that fails, the next append tries again before it writes.
    }
    return !this.#torn
  }

  /**
   * If a new segment cannot be created (no free inode, no descriptor), the old one takes the record: that is no reason
   * to refuse it.
   */
  #startSegment(): void {
    const segment = segmentAt(this.folder, this.#nextSeq)
    if (segment.firstSeq === this.#segment.firstSeq) return
    try {
      this.#moveTo(segment, createSegment(this.folder, segment))
    } catch {
      return
    }
    this.#lastNameCheck = this.#createNameCheck()
  }

  #moveTo(segment: Segment, fd: number): void {
    this.#sync.moveTo(fd)
    this.#segment = segment
    this.#fd = fd
    this.#size = 0
    this.#chain = { ...this.#chain, mustStatePrevious: true }
    this.#abandoned = false
  }

  #abandon(): void {
    this.#abandoned = true
  }

  #recordRepair(bytes: number): void {
    const event = toEventText({ type: 'LOG_REPAIRED', file: basename(this.#segment.path), dropped_bytes: bytes })
    try {
      this.#write([event])
    } catch {
      // A full disk must not prevent a start: this event is written as soon as writing works.
      this.#pendingRepairEvent = event
    }
  }

  #writeRepairEvent(event: EventText): void {
    this.#pendingRepairEvent = undefined
    try {
      this.#write([event])
    } catch (error) {
      this.#pendingRepairEvent = event
      throw error
    }
  }
}

interface NameCheck {
  readonly seq: number
  readonly size: number
  readonly chain: ChainEnd
  readonly at: number
}

/** Callers see this error too, so it does not say where the log is. */
function logUnavailable(cause: unknown): SallyportError {
  return new SallyportError('AUDIT_UNAVAILABLE', `The event log cannot be written: ${describeDiskError(cause)}.`, {
    hint: `${suggestDiskFix(cause)} Recording resumes automatically once that is fixed.`,
    cause,
  })
}
