import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LoggedEvent } from '@sallyport/core'
import { causeCode } from '../disk/disk.ts'
import { EventCounts } from './event-counts.ts'
import { createEventMatcher, createToolMatcher, equalFields, maxResults } from './event-filter.ts'
import { type Line, readAt, readLines } from './line-reader.ts'
import { parseRecord } from './record-line.ts'
import type { EventCount, EventFilter } from './records.ts'
import { isAfter, listSegments, type Position, segmentAt } from './segment.ts'
import { isCorruption, type Sqlite, type Statement } from './sqlite.ts'

export interface EventIndexOptions {
  readonly database: Sqlite
  readonly folder: string
  /** Where the log ended when it was opened. */
  readonly startedAt: Position
  /** Called if the database is damaged: the index is not used again. */
  readonly onDamage: () => void
}

interface IndexRow extends RecordLocation {
  readonly tool_name: string | null
  readonly server: string | null
}

/** How long a record may wait for its row if nobody queries, and the pause between two slices of a backlog. */
const INDEX_DELAY_MS = 250
const BACKLOG_PAUSE_MS = 10
/** At this many writes a second, calls need the processor: then slices come less often. */
const BUSY_WRITES_PER_SECOND = 200
const BUSY_DELAY_MS = 2_000
const MIN_PAGE_SIZE = 256

/** Finds records by their content. It follows the log in the background and catches up before a query. */
export class EventIndex {
  readonly #database: Sqlite
  readonly #folder: string
  readonly #writer: IndexWriter
  readonly #counts: EventCounts
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
    this.#counts = new EventCounts(database)
    this.#guard(() => this.#writer.forgetAfter(startedAt))
    this.logGrew()
  }

  /** Call this after the log has grown. */
  logGrew(): void {
    this.#writes++
    this.#scheduleSlice(INDEX_DELAY_MS)
  }

  /** `undefined` if the index cannot answer now: then read the log. */
  async find(filter: EventFilter): Promise<readonly LoggedEvent[] | undefined> {
    await this.#catchUp()
    const found = this.#guard(() => this.#query(filter))
    if (found !== 'stale') return found
    this.#guard(() => this.#writer.forget())
    await this.#catchUp()
    const again = this.#guard(() => this.#query(filter))
    return again === 'stale' ? undefined : again
  }

  /** How many records of each kind there are since a time; `undefined` if the index cannot answer now. */
  async count(since: Date): Promise<readonly EventCount[] | undefined> {
    await this.#catchUp()
    return this.#guardSlices(() => this.#counts.count(since))
  }

  /** When an agent last called each tool, by its recorded name; `undefined` if the index cannot answer now. */
  async lastUses(agent: string): Promise<ReadonlyMap<string, number> | undefined> {
    await this.#catchUp()
    return this.#guardSlices(() => this.#counts.lastUses(String(toIndexText(agent))))
  }

  /** Records up to this one were removed from the log. */
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

  /** Depends on the rate of writes since the last slice. Their number alone would turn one long pause into the next. */
  #pause(): number {
    const writes = this.#writes
    const seconds = (performance.now() - this.#lastSlice) / 1_000
    this.#writes = 0
    this.#lastSlice = performance.now()
    // A query waits for the whole backlog, so calls may delay the index only so far.
    if (writes === 0 || this.#guard(() => this.#writer.isFarBehind()) === true) return BACKLOG_PAUSE_MS
    return writes < BUSY_WRITES_PER_SECOND * seconds ? INDEX_DELAY_MS : BUSY_DELAY_MS
  }

  /** However long the backlog is, other work gets its turn between two slices. */
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

  #guard<Result>(work: () => Result): Result | undefined {
    if (!this.#usable) return undefined
    try {
      return work()
    } catch (cause) {
      return this.#onFailure(cause)
    }
  }

  async #guardSlices<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    if (!this.#usable) return undefined
    try {
      return await work()
    } catch (cause) {
      return this.#onFailure(cause)
    }
  }

  /** A full disk or a busy file is temporary; a damaged database is not. A missing segment is handled by the log. */
  #onFailure(cause: unknown): undefined {
    if (isCorruption(cause)) {
      this.close()
      this.#onDamage()
    } else if (!isSqliteError(cause) && causeCode(cause) === '') throw cause
  }
}

const isSqliteError = (cause: unknown): boolean => cause instanceof Error && cause.name === 'SqliteError'

/** The position of a record according to the index. */
interface RecordLocation {
  readonly seq: number
  readonly file: number
  readonly offset: number
  readonly length: number
}

/**
 * `gone`: its segment was removed. `stale`: something else is at that position, so the index belongs to another log.
 */
type RecordResult = LoggedEvent | 'gone' | 'stale'

/** Reads single records and opens each segment once. */
class RecordReader {
  readonly #folder: string
  readonly #fds = new Map<number, number | undefined>()

  constructor(folder: string) {
    this.#folder = folder
  }

  read({ seq, file, offset, length }: RecordLocation): RecordResult {
    const fd = this.#open(file)
    if (fd === undefined) return 'gone'
    const record = parseRecord(readAt(fd, offset, length).toString())
    return record?.seq === seq ? record : 'stale'
  }

  close(): void {
    for (const fd of this.#fds.values()) if (fd !== undefined) closeSync(fd)
    this.#fds.clear()
  }

  #open(file: number): number | undefined {
    if (!this.#fds.has(file)) this.#fds.set(file, openIfThere(segmentAt(this.#folder, file).path))
    return this.#fds.get(file)
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    if (causeCode(cause) === 'ENOENT') return undefined
    throw cause
  }
}

/** One slice takes one to two milliseconds: short enough to run between two calls. */
const SLICE_ROWS = 100
const SLICE_BYTES = 1024 * 1024

const INSERT = `INSERT OR REPLACE INTO events
  (seq, time, type, trace_id, call_id, server, tool_name, agent, session, file, offset, length)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/**
 * Copies the log into the index. The position is saved in the same transaction as the rows, so that a crash repeats
 * nothing.
 */
class IndexWriter {
  readonly #database: Sqlite
  readonly #folder: string
  readonly #insert: Statement
  readonly #savePosition: Statement
  #indexed: Position

  constructor(database: Sqlite, folder: string) {
    this.#database = database
    this.#folder = folder
    this.#insert = database.prepare(INSERT)
    this.#savePosition = database.prepare('UPDATE indexed SET file = ?, offset = ?')
    const { file, offset } = database.prepare('SELECT file, offset FROM indexed').get() as Position
    this.#indexed = { file, offset }
  }

  /** If the index has rows of records that are not in the log, none of its rows can be trusted: it is built again. */
  forgetAfter(end: Position): void {
    if (isAfter(this.#indexed, end)) this.forget()
  }

  forget(): void {
    this.#transact({ file: 0, offset: 0 }, () => this.#database.exec('DELETE FROM events'))
  }

  forgetFile(file: number): void {
    this.#database.prepare('DELETE FROM events WHERE file = ?').run(file)
  }

  /** Deletes a slice of the rows up to `through`, the last record that retention removed. */
  forgetSlice(through: number): 'more' | 'done' {
    this.#database
      .prepare('DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE seq <= ? ORDER BY seq LIMIT ?)')
      .run(through, SLICE_ROWS)
    const left = this.#database.prepare('SELECT seq FROM events WHERE seq <= ? LIMIT 1').all(through)
    return left.length > 0 ? 'more' : 'done'
  }

  /** Whether there are whole files between its position and the file that is written to. */
  isFarBehind(): boolean {
    return listSegments(this.#folder).filter(({ firstSeq }) => firstSeq > this.#indexed.file).length > 1
  }

  writeSlice(): 'more' | 'done' {
    const from = this.#findStart()
    if (from === undefined) return 'done'
    const lines = readSlice(segmentAt(this.#folder, from.file).path, from.offset)
    const last = lines.at(-1)
    if (last === undefined) return this.#toNextSegment(from)
    const end = { file: from.file, offset: last.offset + last.length + 1 }
    this.#transact(end, () => {
      for (const line of lines) this.#insertLine(from.file, line)
    })
    return 'more'
  }

  /** The position to continue from, in a segment that exists; `undefined` if the log is empty. */
  #findStart(): Position | undefined {
    const { path } = segmentAt(this.#folder, this.#indexed.file)
    if (existsSync(path)) {
      if (statSync(path).size < this.#indexed.offset) this.forget()
      else return this.#indexed
    }
    const next = this.#segmentAfter(this.#indexed.file)
    return next === undefined ? undefined : { file: next, offset: 0 }
  }

  #toNextSegment(from: Position): 'more' | 'done' {
    const next = this.#segmentAfter(from.file)
    if (next === undefined) return 'done'
    this.#transact({ file: next, offset: 0 }, () => undefined)
    return 'more'
  }

  #segmentAfter(file: number): number | undefined {
    return listSegments(this.#folder).find(({ firstSeq }) => firstSeq > file)?.firstSeq
  }

  #transact(end: Position, work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      work()
      this.#savePosition.run(end.file, end.offset)
      this.#database.exec('COMMIT')
    } catch (cause) {
      if (this.#database.inTransaction) this.#database.exec('ROLLBACK')
      throw cause
    }
    this.#indexed = end
  }

  /** A line that is not a record is left out of the index; it stays in the log. */
  #insertLine(file: number, line: Line): void {
    const record = parseRecord(line.text)
    if (record !== undefined) this.#insert.run(...toRow(record), file, line.offset, line.length)
  }
}

function toRow(record: LoggedEvent): readonly (string | number | null)[] {
  const time = Date.parse(record.time)
  const fields = record as unknown as Readonly<Record<string, unknown>>
  return [
    record.seq,
    Number.isNaN(time) ? null : time,
    toIndexText(record.type),
    toIndexText(fields.trace_id),
    toIndexText(fields.call_id),
    toIndexText(fields.server),
    toIndexText(fields.tool_name),
    toIndexText(fields.agent),
    toIndexText(fields.session),
  ]
}

function readSlice(path: string, from: number): readonly Line[] {
  const lines: Line[] = []
  for (const line of readLines(path, from)) {
    lines.push(line)
    if (lines.length === SLICE_ROWS || line.offset + line.length - from >= SLICE_BYTES) break
  }
  return lines
}

interface IndexQuery {
  /** Conditions on the rows of `events`, joined by AND. They may match too many rows, never too few. */
  readonly where: string
  readonly values: readonly (string | number)[]
  /** The parts that SQL cannot check: a glob over all spellings of the tool's name. */
  readonly accepts: (toolName: string | null, server: string | null) => boolean
}

/**
 * How a string is stored in the index. libsql reads a string only up to a NUL, and cannot store half a surrogate pair.
 */
function toIndexText(value: unknown): string | null {
  return typeof value === 'string' ? value.replaceAll(UNSTORABLE, '\ufffd') : null
}

const UNSTORABLE = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

function buildIndexQuery(filter: EventFilter): IndexQuery {
  const conditions = ['TRUE']
  const values: (string | number)[] = []
  const add = (condition: string, ...bound: readonly (string | number)[]) => {
    conditions.push(condition)
    values.push(...bound)
  }
  for (const [field, value] of equalFields(filter)) add(`${field} = ?`, String(toIndexText(value)))
  if (filter.since !== undefined) add('time >= ?', filter.since.getTime())
  if (filter.until !== undefined) add('time <= ?', filter.until.getTime())
  if (filter.types !== undefined) add(`type IN (${filter.types.map(() => '?').join()})`, ...filter.types)
  if (filter.tool !== undefined) add('tool_name IS NOT NULL')
  const accepts = filter.tool === undefined ? () => true : createToolMatcher(String(toIndexText(filter.tool)))
  return { where: conditions.join(' AND '), values, accepts }
}
