import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { CatalogCache } from './records.ts'
import { type Blob, decodeBlob, loadSqlite, type Sqlite } from './sqlite.ts'

export interface StoredCatalogs extends Pick<CatalogCache, 'load'> {
  close(): void
}

const NO_CATALOGS: StoredCatalogs = { load: () => undefined, close: () => undefined }

/** Reads what a state knows of servers, whether a gateway runs on it or not. It never writes. */
export function openStoredCatalogs(state: string): StoredCatalogs {
  const path = join(state, 'state.db')
  const Sqlite = loadSqlite()
  // Opening a missing database would create it.
  if (Sqlite === undefined || !existsSync(path)) return NO_CATALOGS
  const database = new Sqlite(path)
  try {
    const { load } = createCatalogCache(database)
    return { load, close: () => database.close() }
  } catch {
    // A database of another version or a damaged one has nothing that we could use.
    database.close()
    return NO_CATALOGS
  }
}

/** A cache that may lose entries: what cannot be loaded or saved is asked of the server again. */
export function createCatalogCache(database: Sqlite | undefined): CatalogCache {
  if (database === undefined) return { load: () => undefined, save: () => undefined }
  const select = database.prepare('SELECT catalogue FROM catalogues WHERE server = ? AND fingerprint = ?')
  const replace = database.prepare(
    'INSERT OR REPLACE INTO catalogues (server, fingerprint, catalogue) VALUES (?, ?, ?)',
  )
  return {
    load(server, fingerprint) {
      const row = ignoreErrors(() => select.get(server, fingerprint)) as { catalogue: Blob } | undefined
      return row === undefined ? undefined : decodeBlob(row.catalogue)
    },
    save(server, fingerprint, text) {
      // Stored as bytes: libsql cuts a string at its first NUL when it reads it back.
      ignoreErrors(() => replace.run(server, fingerprint, Buffer.from(text)))
    },
  }
}

function ignoreErrors<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
