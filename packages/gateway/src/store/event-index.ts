import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LoggedEvent } from '@sallyport/core'
import { causeCode } from '../disk/disk.ts'
import { createEventMatcher, maxResults } from './event-filter.ts'
import { buildIndexQuery, type IndexQuery } from './index-query.ts'
import { IndexWriter } from './index-writer.ts'
import { type RecordLocation, RecordReader } from './record-reader.ts'
import type { EventFilter } from './records.ts'
import type { Position } from './segment.ts'
import { isCorruption, type Sqlite } from './sqlite.ts'

export interface EventIndexOptions {
  readonly database: Sqlite
  readonly folder: string
  /** Where the log ended when it was opened. */
  readonly startedAt: Position
  /** The database is broken and the index will not be used again. */
  readonly onDamage: () => void
}

interface IndexRow extends RecordLocation {
  readonly tool_name: string | null
  readonly server: string | null
}

/** How long a record may wait for its row when nobody asks, and the pause between two slices of a backlog. */
const INDEX_DELAY_MS = 250
const BACKLOG_PAUSE_MS = 10
/** While so many writes come in a second the processor is left to the calls: then a slice comes only so often. */
const BUSY_WRITES_PER_SECOND = 200
const BUSY_DELAY_MS = 2_000
const MIN_PAGE_SIZE = 256

/** Finds records by what they say. It follows the log at leisure, and catches up when it is asked. */
export class EventIndex {
  readonly #database: Sqlite
  readonly #folder: string
  readonly #writer: IndexWriter
  readonly #onDamage: () => void
  #timer: NodeJS.Timeout | undefined
  #writes = 0
  #lastSlice = performance.now()
  #usable = true

  constructor({ database, folder, startedAt, onDamage }: EventIndexOptions) {
    this.#database = database
    this.#folder = folder
    this.#onDamage = onDamage
    this.#writer = new IndexWriter(database, folder)
    this.#guard(() => this.#writer.forgetAfter(startedAt))
    this.logGrew()
  }

  /** The log has grown. */
  logGrew(): void {
    this.#writes++
    this.#scheduleSlice(INDEX_DELAY_MS)
  }

  /** Undefined: the index cannot answer now, ask the log. */
  async find(filter: EventFilter): Promise<readonly LoggedEvent[] | undefined> {
    await this.#catchUp()
    const found = this.#guard(() => this.#query(filter))
    if (found !== 'stale') return found
    this.#guard(() => this.#writer.forget())
    await this.#catchUp()
    const again = this.#guard(() => this.#query(filter))
    return again === 'stale' ? undefined : again
  }

  /** Records up to this one are gone for good. */
  async forgetThrough(seq: number): Promise<void> {
    while (this.#guard(() => this.#writer.forgetSlice(seq)) === 'more') await nextTurn()
  }

  close(): void {
    this.#usable = false
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #scheduleSlice(delay: number): void {
    if (!this.#usable) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      const pause = this.#pause()
      if (this.#guard(() => this.#writer.writeSlice()) === 'more') this.#scheduleSlice(pause)
    }, delay).unref()
  }

  /** By how fast writes came since the last look: by their number alone a long pause would ask for the next. */
  #pause(): number {
    const writes = this.#writes
    const seconds = (performance.now() - this.#lastSlice) / 1_000
    this.#writes = 0
    this.#lastSlice = performance.now()
    // Whoever asks waits for all of it: what calls may put off has an end.
    if (writes === 0 || this.#guard(() => this.#writer.isFarBehind()) === true) return BACKLOG_PAUSE_MS
    return writes < BUSY_WRITES_PER_SECOND * seconds ? INDEX_DELAY_MS : BUSY_DELAY_MS
  }

  /** However far behind it is, other work gets its turn between two slices. */
  async #catchUp(): Promise<void> {
    while (this.#guard(() => this.#writer.writeSlice()) === 'more') await nextTurn()
  }

  #query(filter: EventFilter): readonly LoggedEvent[] | 'stale' {
    const limit = maxResults(filter)
    const query = buildIndexQuery(filter)
    const matches = createEventMatcher(filter)
    const reader = new RecordReader(this.#folder)
    const gone = new Set<number>()
    const newestFirst: LoggedEvent[] = []
    try {
      for (const row of this.#rows(query, limit)) {
        if (newestFirst.length >= limit) break
        const record = gone.has(row.file) ? 'gone' : reader.read(row)
        if (record === 'stale') return 'stale'
        if (record === 'gone') gone.add(row.file)
        else if (matches(record)) newestFirst.push(record)
      }
    } finally {
      reader.close()
    }
    for (const file of gone) this.#writer.forgetFile(file)
    return newestFirst.reverse()
  }

  /** In pages, so that a limit is cheap and no read transaction stays open behind an abandoned cursor. */
  *#rows(query: IndexQuery, limit: number): Generator<IndexRow> {
    const size = limit === Number.POSITIVE_INFINITY ? -1 : Math.max(limit, MIN_PAGE_SIZE)
    const page = this.#database.prepare(
      `SELECT seq, file, offset, length, tool_name, server FROM events WHERE ${query.where} AND seq < ? ORDER BY seq DESC LIMIT ?`,
    )
    let before = Number.MAX_SAFE_INTEGER
    for (;;) {
      const rows = page.all(...query.values, before, size) as readonly IndexRow[]
      for (const row of rows) if (query.accepts(row.tool_name, row.server)) yield row
      const last = rows.at(-1)
      if (size === -1 || last === undefined || rows.length < size) return
      before = last.seq
    }
  }

  /** A full disk or a busy file passes; a broken database does not. A missing segment is the log's own affair. */
  #guard<Result>(work: () => Result): Result | undefined {
    if (!this.#usable) return undefined
    try {
      return work()
    } catch (cause) {
      if (isCorruption(cause)) {
        this.close()
        this.#onDamage()
        return undefined
      }
      if (isSqliteError(cause) || causeCode(cause) !== '') return undefined
      throw cause
    }
  }
}

const isSqliteError = (cause: unknown): boolean => cause instanceof Error && cause.name === 'SqliteError'
