import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createCatalogCache } from './catalogue-cache.ts'
import type { CatalogCache } from './records.ts'
import { loadSqlite } from './sqlite.ts'

export interface StoredCatalogs extends Pick<CatalogCache, 'load'> {
  close(): void
}

const NO_CATALOGS: StoredCatalogs = { load: () => undefined, close: () => undefined }

/** What is known of servers in a state, whether a gateway runs on it or not: it is read, and nothing else. */
export function openStoredCatalogs(state: string): StoredCatalogs {
  const path = join(state, 'state.db')
  const Sqlite = loadSqlite()
  // To open what is not there would make it.
  if (Sqlite === undefined || !existsSync(path)) return NO_CATALOGS
  const database = new Sqlite(path)
  try {
    const { load } = createCatalogCache(database)
    return { load, close: () => database.close() }
  } catch {
    // A database of another version, or a damaged one: it knows nothing that we could use.
    database.close()
    return NO_CATALOGS
  }
}
