import type { DefinitionShelf } from './records.ts'
import { type Blob, blobText, type Sqlite } from './sqlite.ts'

/** A shelf that may be lost: then a changed tool is not shown at all until somebody has accepted it. */
export function createDefinitionShelf(database: Sqlite | undefined): DefinitionShelf {
  if (database === undefined) return { load: () => undefined, save: () => undefined }
  const select = database.prepare('SELECT definition FROM definitions WHERE pin = ?')
  const find = database.prepare('SELECT 1 FROM definitions WHERE pin = ?')
  const insert = database.prepare('INSERT OR IGNORE INTO definitions (pin, definition) VALUES (?, ?)')
  return {
    load(pin) {
      try {
        const row = select.get(pin) as { definition: Blob } | undefined
        return row && blobText(row.definition)
      } catch {
        return undefined
      }
    },
    save(definitions) {
      if (definitions.length === 0) return
      try {
        database.exec('BEGIN')
        for (const { pin, text } of definitions) {
          // As bytes: libsql cuts a text at its first NUL when it reads it back.
          if (find.get(pin) === undefined) insert.run(pin, Buffer.from(text()))
        }
        database.exec('COMMIT')
      } catch {
        if (database.inTransaction) database.exec('ROLLBACK')
      }
    },
  }
}
