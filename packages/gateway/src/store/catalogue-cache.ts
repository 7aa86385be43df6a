import type { CatalogCache } from './records.ts'
import { type Blob, decodeBlob, type Sqlite } from './sqlite.ts'

/** A cache that forgets: what cannot be loaded or saved is asked of the server again. */
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
    save(server, fingerprint, catalogue) {
      // As bytes: libsql cuts a text at its first NUL when it reads it back.
      ignoreErrors(() => replace.run(server, fingerprint, Buffer.from(catalogue)))
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
