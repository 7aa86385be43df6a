import { join } from 'node:path'
import type { LoggedEvent } from '@sallyport/core'
import { makeFolder, sweepLeftovers } from '../disk/disk.ts'
import { createCatalogueCache } from './catalogue-cache.ts'
import { EventIndex } from './event-index.ts'
import type { SegmentedLog } from './event-log.ts'
import { openEventLog } from './open-event-log.ts'
import { scanLog } from './log-scan.ts'
import type { CatalogueCache, EventFilter, Store } from './records.ts'
import type { Sqlite } from './sqlite.ts'
import { closeStateDatabase, openStateDatabase, setAside } from './state-database.ts'

export { eventMatcher } from './event-filter.ts'
export type { CatalogueCache, EventFilter, EventLog, EventText, Recordable, Store } from './records.ts'
export { loadSqlite } from './sqlite.ts'
export { lockState, readHolder, type StateHolder } from './state-lock.ts'

export interface StoreOptions {
  readonly state: string
  readonly durability: 'process' | 'power'
  readonly now?: () => Date
  /** A log file that has grown so large is followed by a new one. */
  readonly segmentBytes?: number
}

/** Opens the state for one gateway, which holds its lock. */
export function openStore({ state, now = () => new Date(), ...options }: StoreOptions): Store {
  makeFolder(state)
  sweepLeftovers(state)
  const path = join(state, 'state.db')
  const database = openStateDatabase(path, now)
  try {
    const log = openEventLog({ folder: join(state, 'logs'), now, ...options })
    return new FileStore({ log, database, onDamage: () => setAside(path, now) })
  } catch (cause) {
    database?.close()
    throw cause
  }
}

interface Parts {
  readonly log: SegmentedLog
  readonly database: Sqlite | undefined
  readonly onDamage: () => void
}

/** The log is the truth; the database beside it makes finding quick and may be lost at any time. */
class FileStore implements Store {
  readonly log: SegmentedLog
  readonly catalogues: CatalogueCache
  readonly #database: Sqlite | undefined
  readonly #index: EventIndex | undefined

  constructor({ log, database, onDamage }: Parts) {
    this.log = log
    this.#database = database
    this.catalogues = createCatalogueCache(database)
    if (database === undefined) return
    const { folder, startedAt } = log
    const index = new EventIndex({ database, folder, startedAt, onDamage })
    log.onGrowth(() => index.nudge())
    this.#index = index
  }

  async find(filter: EventFilter): Promise<readonly LoggedEvent[]> {
    return (await this.#index?.find(filter)) ?? scanLog(this.log.folder, filter)
  }

  async close(): Promise<void> {
    this.#index?.close()
    if (this.#database !== undefined) closeStateDatabase(this.#database)
    await this.log.close()
  }
}
