import { join } from 'node:path'
import type { LoggedEvent } from '@sallyport/core'
import { makeFolder, removeStaleTempFiles } from '../disk/disk.ts'
import { createCatalogCache } from './catalogue-cache.ts'
import { createDefinitionStore } from './definition-shelf.ts'
import { EventIndex } from './event-index.ts'
import type { SegmentedLog } from './event-log.ts'
import { HeadWriter } from './log-head.ts'
import { scanLog } from './log-scan.ts'
import { createOfferRecords } from './offer-records.ts'
import { openEventLog } from './open-event-log.ts'
import { readRecords } from './read-records.ts'
import type { CatalogCache, DefinitionStore, EventFilter, OfferRecords, Store } from './records.ts'
import { Retention, type RetentionPolicy } from './retention.ts'
import type { Sqlite } from './sqlite.ts'
import { closeStateDatabase, moveDamagedAside, openStateDatabase } from './state-database.ts'

export { createEventMatcher } from './event-filter.ts'
export { openStoredCatalogs } from './kept-catalogues.ts'
export { readRecords } from './read-records.ts'
export type {
  CatalogCache,
  DefinitionStore,
  EventFilter,
  EventLog,
  EventText,
  OfferRecord,
  OfferRecords,
  Recordable,
  Store,
} from './records.ts'
export { findSqliteProblem } from './sqlite.ts'
export { lockState, readHolder, type StateHolder } from './state-lock.ts'
export { type LogReport, verifyLog } from './verify-log.ts'

export interface StoreOptions {
  readonly state: string
  readonly durability: 'process' | 'power'
  readonly now?: () => Date
  /** A log file that has grown so large is followed by a new one. */
  readonly segmentBytes?: number
  /** Without it nothing is removed. */
  readonly retention?: RetentionPolicy
}

const SEGMENT_BYTES = 64 * 1024 * 1024

/** Opens the state for one gateway, which holds its lock. */
export function openStore(options: StoreOptions): Store {
  const { state, durability, retention, now = () => new Date(), segmentBytes = SEGMENT_BYTES } = options
  const folder = join(state, 'logs')
  makeFolder(state)
  removeStaleTempFiles(state)
  const path = join(state, 'state.db')
  const database = openStateDatabase(path, now)
  try {
    const log = openEventLog({ folder, durability, now, segmentBytes })
    removeStaleTempFiles(folder)
    const store = new FileStore({ log, database, now, segmentBytes, onDamage: () => moveDamagedAside(path, now) })
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
  readonly now: () => Date
  readonly segmentBytes: number
  readonly onDamage: () => void
}

/** The log is the truth; the database beside it makes finding quick and may be lost at any time. */
class FileStore implements Store {
  readonly log: SegmentedLog
  readonly catalogs: CatalogCache
  readonly definitions: DefinitionStore
  readonly offers: OfferRecords
  readonly #parts: Parts
  readonly #index: EventIndex | undefined
  readonly #head: HeadWriter
  #retention: Retention | undefined

  constructor(parts: Parts) {
    const { log, database, onDamage } = parts
    const { folder, startedAt } = log
    this.#parts = parts
    this.log = log
    this.catalogs = createCatalogCache(database)
    this.definitions = createDefinitionStore(database)
    this.offers = createOfferRecords(database)
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
