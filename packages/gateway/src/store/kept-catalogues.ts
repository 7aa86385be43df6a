import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createCatalogueCache } from './catalogue-cache.ts'
import type { CatalogueCache } from './records.ts'
import { loadSqlite } from './sqlite.ts'

export interface KeptCatalogues extends Pick<CatalogueCache, 'load'> {
  close(): void
}

const NOTHING: KeptCatalogues = { load: () => undefined, close: () => undefined }

/** What is known of servers in a state, whether a gateway runs on it or not: it is read, and nothing else. */
export function openKeptCatalogues(state: string): KeptCatalogues {
  const path = join(state, 'state.db')
  const Sqlite = loadSqlite()
  // To open what is not there would make it.
  if (Sqlite === undefined || !existsSync(path)) return NOTHING
  const database = new Sqlite(path)
  try {
    const { load } = createCatalogueCache(database)
    return { load, close: () => database.close() }
  } catch {
    // A database of another version, or a damaged one: it knows nothing that we could use.
    database.close()
    return NOTHING
  }
}
