import { closeSync, fstatSync, openSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { messageOf } from '@sallyport/core'
import { removeFile } from '../disk/disk.ts'
import type { SegmentedLog } from './event-log.ts'
import { lastNewline, readAt } from './line-reader.ts'
import { parseRecord } from './record-line.ts'
import { listSegments } from './segment.ts'

/** Records that are older, or over the size, are removed, whole files at a time. */
export interface RetentionPolicy {
  /** The maximum age of the newest record in a file, in milliseconds. */
  readonly age: number
  /** The maximum size of all files together. */
  readonly bytes: number
}

export interface RetentionOptions {
  readonly log: SegmentedLog
  readonly policy: RetentionPolicy
  readonly now: () => Date
  /** No file grows larger than this, whatever the limits are. */
  readonly segmentBytes: number
  /** The log now begins after this record. */
  readonly onRemoved: (through: number) => Promise<void>
}

const CHECK_INTERVAL_MS = 3_600_000
/** The retained size is divided among this many files, so that each removal is a small part of it. */
const FILES = 8

/**
 * Removes the oldest files of a log as soon as they exceed the limits: at the start, with every new file, and once an
 * hour.
 */
export class Retention {
  readonly #options: RetentionOptions
  readonly #measured = new Map<string, ClosedSegment>()
  readonly #timer: NodeJS.Timeout
  #policy: RetentionPolicy
  #active: number
  #announced = 0
  #hasWarned = false
  #isClosed = false
  #running: Promise<void> | undefined
  #isRerunNeeded = false

  constructor(options: RetentionOptions) {
    this.#options = options
    this.#policy = options.policy
    this.#active = options.log.active.firstSeq
    this.#timer = setInterval(() => this.#start(), CHECK_INTERVAL_MS).unref()
    this.update(options.policy)
  }

  update(policy: RetentionPolicy): void {
    this.#policy = policy
    this.#options.log.limitSegments(Math.min(this.#options.segmentBytes, Math.ceil(policy.bytes / FILES)))
    this.#start()
  }

  /** Call this after the log has grown. */
  logGrew(): void {
    const { firstSeq } = this.#options.log.active
    if (firstSeq === this.#active) return
    this.#active = firstSeq
    this.#start()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#running
  }

  #start(): void {
    this.#isRerunNeeded = true
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  async #run(): Promise<void> {
    // Delayed, because somebody waits for a start, and for the write that began a new file.
    for (await nextTurn(); this.#isRerunNeeded && !this.#isClosed; ) {
      this.#isRerunNeeded = false
      await this.#trim().catch((cause) => this.#warnOnce(cause))
    }
  }

  /**
   * The record is on disk before the files are removed: so a log that begins late says why, even after a crash in
   * between.
   */
  async #trim(): Promise<void> {
    const { log, onRemoved } = this.#options
    const closed = listSegments(log.folder).filter(({ firstSeq }) => firstSeq < log.active.firstSeq)
    const expired = this.#expired(closed.map(({ path }) => this.#measure(path)))
    if (expired.length === 0) return
    const through = (closed[expired.length] ?? log.active).firstSeq - 1
    const bytes = expired.reduce((sum, segment) => sum + segment.bytes, 0)
    if (through > this.#announced) log.append({ type: 'LOG_TRIMMED', files: expired.length, bytes, through })
    await log.sync()
    this.#announced = through
    for (const { path } of expired) {
      removeFile(path)
      this.#measured.delete(path)
    }
    await onRemoved(through)
  }

  /** Only the oldest files: no record is missing between two that remain. */
  #expired(closed: readonly ClosedSegment[]): readonly ClosedSegment[] {
    const { age, bytes } = this.#policy
    const now = this.#options.now().getTime()
    let total = closed.reduce((sum, segment) => sum + segment.bytes, this.#options.log.size)
    const firstRetained = closed.findIndex((segment) => {
      const isWanted = total <= bytes && now - segment.newest <= age
      total -= segment.bytes
      return isWanted
    })
    return firstRetained === -1 ? closed : closed.slice(0, firstRetained)
  }

  #measure(path: string): ClosedSegment {
    const known = this.#measured.get(path) ?? measureSegment(path)
    this.#measured.set(path, known)
    return known
  }

  /** A full disk, or a file that cannot be removed now, may be temporary: the next attempt is an hour later. */
  #warnOnce(cause: unknown): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    process.emitWarning(`Old files of the event log could not be removed: ${messageOf(cause)}`)
  }
}

/** A file of the log that is no longer written. */
interface ClosedSegment {
  readonly path: string
  readonly bytes: number
  /** When its newest record was written; the file's own time if no record has one. */
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
