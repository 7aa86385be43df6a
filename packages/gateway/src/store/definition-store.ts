import type { DefinitionStore, StoredDefinition } from './records.ts'
import { type Blob, decodeBlob, type Sqlite } from './sqlite.ts'

/** The authors of definitions may be hostile, and tools.yaml can refer to tens of thousands of them. */
const MAX_BYTES = 256_000_000
/** So that one server cannot use up the space of the others. */
const MAX_BYTES_PER_SERVER = 32_000_000

interface StorageLimits {
  readonly total: number
  readonly perServer: number
}

const DEFAULT_LIMITS: StorageLimits = { total: MAX_BYTES, perServer: MAX_BYTES_PER_SERVER }

/** A store that may be lost: then a changed tool is not shown at all until somebody accepts it. */
export function createDefinitionStore(
  database: Sqlite | undefined,
  limits: StorageLimits = DEFAULT_LIMITS,
): DefinitionStore {
  if (database === undefined) return { load: () => undefined, save: () => undefined }
  const select = database.prepare('SELECT definition FROM definitions WHERE pin = ?')
  return {
    load(pin) {
      try {
        const row = select.get(pin) as { definition: Blob } | undefined
        return row && decodeBlob(row.definition)
      } catch {
        return undefined
      }
    },
    save: createSave(database, limits),
  }
}

function createSave(database: Sqlite, { total, perServer }: StorageLimits): DefinitionStore['save'] {
  const find = database.prepare('SELECT 1 FROM definitions WHERE pin = ?')
  const insert = database.prepare('INSERT OR IGNORE INTO definitions (pin, definition, server) VALUES (?, ?, ?)')
  const size = database.prepare('SELECT total(length(definition)) AS bytes FROM definitions')
  const sizeOfServer = database.prepare('SELECT total(length(definition)) AS bytes FROM definitions WHERE server = ?')
  const freeBytesFor = (server: string): number => {
    const { bytes } = size.get() as { bytes: number }
    const { bytes: own } = sizeOfServer.get(server) as { bytes: number }
    return Math.min(total - bytes, perServer - own)
  }
  const put = (server: string, definitions: readonly StoredDefinition[], named: () => ReadonlySet<string>): void => {
    // Stored as bytes: libsql cuts a string at its first NUL when it reads it back.
    const texts = definitions.map(({ pin, text }) => ({ pin, bytes: Buffer.from(text()) }))
    const neededBytes = texts.reduce((sum, { bytes }) => sum + bytes.length, 0)
    if (neededBytes > freeBytesFor(server)) deleteUnreferenced(database, named())
    let freeBytes = freeBytesFor(server)
    for (const { pin, bytes } of texts) {
      // Definitions that are named stay. One that does not fit is treated as lost.
      if (bytes.length > freeBytes) continue
      insert.run(pin, bytes, server)
      freeBytes -= bytes.length
    }
  }
  return (server, definitions, named) => {
    if (definitions.length === 0) return
    try {
      // One transaction for all reads too: thousands of single ones are slow.
      database.exec('BEGIN')
      const fresh = definitions.filter(({ pin }) => find.get(pin) === undefined)
      if (fresh.length > 0) put(server, fresh, named)
      database.exec('COMMIT')
    } catch {
      if (database.inTransaction) database.exec('ROLLBACK')
    }
  }
}

function deleteUnreferenced(database: Sqlite, named: ReadonlySet<string>): void {
  const pins = database.prepare('SELECT pin FROM definitions').all() as readonly { readonly pin: string }[]
  const remove = database.prepare('DELETE FROM definitions WHERE pin = ?')
  for (const { pin } of pins) if (!named.has(pin)) remove.run(pin)
}
