import type { OfferRecord, OfferRecords } from './records.ts'
import type { Sqlite } from './sqlite.ts'

/** What is remembered of offers. Without a database nothing outlasts the process. */
export function createOfferRecords(database: Sqlite | undefined): OfferRecords {
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

/** As JSON: a name may hold a NUL, at which libsql would cut the text. */
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
