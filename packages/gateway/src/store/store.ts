import { closeSync, fstatSync, ftruncateSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { LoggedEvent } from '@sallyport/core'
import {
  causeCode,
  makeFolder,
  makePrivateFolder,
  removeStaleTempFiles,
  stateUnusable,
  syncFolder,
} from '../disk/disk.ts'
import { CHAIN_START, type ChainEnd, parseLineHead, parseSeal } from './chain.ts'
import { createDefinitionStore } from './definition-store.ts'
import { createEventMatcher, maxResults } from './event-filter.ts'
import { EventIndex } from './event-index.ts'
import { type EventLogOptions, SegmentedLog } from './event-log.ts'
import { openLabelRecords } from './label-records.ts'
import { lastNewline, readAt, readByteLines, readLines } from './line-reader.ts'
import { HeadWriter, type LogHead, readHead } from './log-head.ts'
import { readRecords } from './read-records.ts'
import { parseRecord } from './record-line.ts'
import type {
  CatalogCache,
  DefinitionStore,
  EventCount,
  EventFilter,
  LabelRecords,
  OfferRecord,
  OfferRecords,
  Store,
} from './records.ts'
import { Retention, type RetentionPolicy } from './retention.ts'
import { listSegments, type Segment, segmentAt } from './segment.ts'
import { openSegment } from './segment-file.ts'
import type { Sqlite } from './sqlite.ts'
import { closeStateDatabase, moveDamagedAside, openStateDatabase } from './state-database.ts'
import { createCatalogCache } from './stored-catalogs.ts'

export { createEventMatcher } from './event-filter.ts'
export { readRecords } from './read-records.ts'
export type {
  CatalogCache,
  DefinitionStore,
  EventCount,
  EventFilter,
  EventLog,
  EventText,
  LabelRecords,
  OfferRecord,
  OfferRecords,
  Recordable,
  Store,
  StoredLabel,
} from './records.ts'
export { findSqliteProblem } from './sqlite.ts'
export { lockState, readHolder, type StateHolder } from './state-lock.ts'
export { openStoredCatalogs } from './stored-catalogs.ts'
export { type LogReport, verifyLog } from './verify-log.ts'

export interface StoreOptions {
  readonly state: string
  readonly durability: 'process' | 'power'
  readonly now?: () => Date
  /** When a log file reaches this size, the log continues in a new one. */
  readonly segmentBytes?: number
  /** If missing, nothing is removed. */
  readonly retention?: RetentionPolicy
  /** Called once for each label that cannot be read. */
  readonly onLabelProblem?: (text: string) => void
}

const SEGMENT_BYTES = 64 * 1024 * 1024

/** Opens the state for one gateway, which must hold its lock. */
export function openStore(options: StoreOptions): Store {
  const { state, durability, retention, now = () => new Date(), segmentBytes = SEGMENT_BYTES } = options
  const { onLabelProblem = () => undefined } = options
  const folder = join(state, 'logs')
  makeFolder(state)
  removeStaleTempFiles(state)
  const path = join(state, 'state.db')
  const database = openStateDatabase(path, now)
  try {
    const log = openEventLog({ folder, durability, now, segmentBytes })
    removeStaleTempFiles(folder)
    const onDamage = (): void => moveDamagedAside(path, now)
    const labels = openLabelRecords(state, database, onLabelProblem)
    const store = new FileStore({ log, database, labels, now, segmentBytes, onDamage })
    if (retention !== undefined) store.retain(retention)
    return store
  } catch (cause) {
    database?.close()
    throw cause
  }
}

interface Parts {
  readonly log: SegmentedLog
  readonly database: Sqlite | undefined
  readonly labels: LabelRecords
  readonly now: () => Date
  readonly segmentBytes: number
  readonly onDamage: () => void
}

/** The log is the source of truth; the database beside it makes queries fast and may be lost at any time. */
class FileStore implements Store {
  readonly log: SegmentedLog
  readonly catalogs: CatalogCache
  readonly definitions: DefinitionStore
  readonly offers: OfferRecords
  readonly labels: LabelRecords
  readonly #parts: Parts
  readonly #index: EventIndex | undefined
  readonly #head: HeadWriter
  #retention: Retention | undefined

  constructor(parts: Parts) {
    const { log, database, labels, onDamage } = parts
    const { folder, startedAt } = log
    this.#parts = parts
    this.log = log
    this.catalogs = createCatalogCache(database)
    this.definitions = createDefinitionStore(database)
    this.offers = createOfferRecords(database)
    this.labels = labels
    this.#index = database && new EventIndex({ database, folder, startedAt, onDamage })
    this.#head = new HeadWriter({ folder, head: () => log.head(), sync: () => log.sync() })
    log.onGrowth(() => {
      this.#index?.logGrew()
      this.#head.logGrew()
      this.#retention?.logGrew()
    })
  }

  async find(filter: EventFilter): Promise<readonly LoggedEvent[]> {
    return (await this.#index?.find(filter)) ?? scanLog(this.log.folder, filter)
  }

  async count(since: Date): Promise<readonly EventCount[] | undefined> {
    return this.#index?.count(since)
  }

  async lastUses(agent: string): Promise<ReadonlyMap<string, number> | undefined> {
    return this.#index?.lastUses(agent)
  }

  async *each(filter: EventFilter, signal?: AbortSignal): AsyncGenerator<LoggedEvent> {
    for await (const { event } of readRecords(this.log.folder, filter, signal)) yield event
  }

  retain(policy: RetentionPolicy): void {
    if (this.#retention !== undefined) return this.#retention.update(policy)
    const { log, now, segmentBytes } = this.#parts
    const onRemoved = async (through: number): Promise<void> => this.#index?.forgetThrough(through)
    this.#retention = new Retention({ log, policy, now, segmentBytes, onRemoved })
  }

  async close(): Promise<void> {
    this.#index?.close()
    await this.#retention?.close()
    if (this.#parts.database !== undefined) closeStateDatabase(this.#parts.database)
    await this.#head.close()
    await this.log.close()
  }
}

/** Answers a filter by reading the log itself: slow, but correct whatever the state of the index. */
export function scanLog(folder: string, filter: EventFilter): readonly LoggedEvent[] {
  const limit = maxResults(filter)
  const matches = createEventMatcher(filter)
  let found: LoggedEvent[] = []
  for (const segment of listSegments(folder).toReversed()) {
    if (found.length >= limit) break
    found = [...scanSegment(segment, matches), ...found]
  }
  return limit < found.length ? found.slice(found.length - limit) : found
}

function scanSegment(segment: Segment, matches: (event: LoggedEvent) => boolean): readonly LoggedEvent[] {
  const found: LoggedEvent[] = []
  try {
    for (const line of readLines(segment.path, 0)) {
      const record = parseRecord(line.text)
      if (record !== undefined && matches(record)) found.push(record)
    }
  } catch (cause) {
    // Retention may remove a segment between the listing and the reading.
    if (causeCode(cause) !== 'ENOENT') throw cause
  }
  return found
}

/** What is remembered of offers. Without a database it lasts only as long as the process. */
function createOfferRecords(database: Sqlite | undefined): OfferRecords {
  if (database === undefined) return { load: () => [], save: () => false }
  const select = database.prepare('SELECT kind, name, pin, inspected, findings, accepted FROM offers WHERE server = ?')
  const replace = database.prepare(
    'INSERT OR REPLACE INTO offers (server, kind, name, pin, inspected, findings, accepted) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  const inTransaction = (work: () => void): boolean => {
    try {
      database.exec('BEGIN')
      work()
      database.exec('COMMIT')
      return true
    } catch {
      if (database.inTransaction) database.exec('ROLLBACK')
      return false
    }
  }
  return {
    load(server) {
      try {
        return (select.all(server) as readonly OfferRow[]).map(fromRow)
      } catch {
        return []
      }
    },
    save: (server, records) =>
      inTransaction(() => {
        for (const { kind, name, pin, inspected, findings, accepted } of records)
          replace.run(server, kind, printName(name), pin, inspected, JSON.stringify(findings), JSON.stringify(accepted))
      }),
  }
}

interface OfferRow extends Omit<OfferRecord, 'findings' | 'accepted'> {
  readonly findings: string
  readonly accepted: string
}

/** Stored as JSON: a name may contain a NUL, at which libsql would cut the string. */
const printName = (name: string): string => JSON.stringify(name)

const fromRow = ({ findings, accepted, name, ...row }: OfferRow): OfferRecord => ({
  ...row,
  name: JSON.parse(name) as string,
  findings: parseList(findings),
  accepted: parseList(accepted),
})

const NONE: readonly never[] = Object.freeze([])

const parseList = <Item>(text: string): readonly Item[] =>
  text === '[]' ? NONE : (JSON.parse(text) as readonly Item[])

/** Opens the log for its only writer, and removes a record that a crash cut off. */
export function openEventLog(options: EventLogOptions): SegmentedLog {
  const { folder } = options
  makePrivateFolder(folder)
  const segments = listSegments(folder)
  const segment = segments.at(-1) ?? segmentAt(folder, 1)
  let fd: number | undefined
  try {
    fd = openSegment(segment)
    const tail = findTail(fd, segment.path)
    if (tail.tornBytes > 0) ftruncateSync(fd, tail.end)
    if (segments.length === 0) syncFolder(folder)
    const chain = resumeAfterHead(findChainEnd({ fd, tail, earlier: segments.slice(0, -1) }), readHead(folder))
    const nextSeq = Math.max(segment.firstSeq, (tail.lastSeq ?? 0) + 1, chain.seq + 1)
    return new SegmentedLog(options, { segment, fd, size: tail.end, nextSeq, tornBytes: tail.tornBytes, chain })
  } catch (cause) {
    if (fd !== undefined) closeSync(fd)
    throw stateUnusable(segment.path, cause)
  }
}

/**
 * If a log ends before its saved head, its end was lost or changed. The numbers and the chain continue after that head:
 * so every later reader sees that records are missing, and no number is used twice.
 */
function resumeAfterHead(end: ChainEnd, savedHead: LogHead | undefined): ChainEnd {
  if (savedHead === undefined || savedHead.seq < end.seq || savedHead.chain === end.chain) return end
  return { ...savedHead, open: '', mustStatePrevious: true }
}

interface Tails {
  readonly fd: number
  readonly tail: LogTail
  readonly earlier: readonly Segment[]
}

function findChainEnd({ fd, tail, earlier }: Tails): ChainEnd {
  const { sealed, end, lastSeq } = tail
  if (sealed !== undefined) {
    const open = readAt(fd, sealed.end, end - sealed.end).toString()
    return { seq: sealed.seq, chain: sealed.chain, open, mustStatePrevious: false }
  }
  const { seq, chain } = (lastSeq === undefined ? findLastSealed(earlier) : undefined) ?? { seq: 0, chain: CHAIN_START }
  return { seq, chain, open: '', mustStatePrevious: true }
}

/** For a segment that was created and never written. */
function findLastSealed(segments: readonly Segment[]): SealedUpTo | undefined {
  for (const { path } of segments.toReversed()) {
    const fd = openSync(path, 'r')
    try {
      const { sealed, lastSeq } = findTail(fd, path)
      if (lastSeq !== undefined) return sealed
    } finally {
      closeSync(fd)
    }
  }
  return undefined
}

/** The offset where the last whole record of a segment ends. The bytes after it were cut off by a crash. */
interface LogTail {
  readonly end: number
  /** `undefined` if the segment has no record. */
  readonly lastSeq: number | undefined
  readonly tornBytes: number
  /** `undefined` if no record of the segment has a chain value. */
  readonly sealed: SealedUpTo | undefined
}

/** How far the chain reaches. Whole records after that belong to an interrupted write. */
interface SealedUpTo {
  readonly chain: string
  readonly end: number
  readonly seq: number
}

function findTail(fd: number, path: string): LogTail {
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

/**
 * Needed only after a crash, after real damage (such as zero blocks after a power cut), and in files without a chain.
 * Linear time, whatever the damage is.
 */
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
