import { SallyportError } from '@sallyport/core'
import { openSqlDatabases, type SqlDatabases, type SqlSettings } from './sql-databases.ts'

let configured: SqlDatabases | undefined

function requireDatabases(): SqlDatabases {
  if (configured !== undefined) return configured
  throw new SallyportError('USAGE', 'SqlConnector has no databases.', {
    hint: 'Call SqlConnector.configure({ databases: { … } }) first.',
  })
}

/** SQL for tools: the databases of this program, by name. `openSqlDatabases` gives the same for several sets of them. */
export const SqlConnector = {
  /** Once, where the program begins; again only after `close`. */
  configure(settings: SqlSettings): void {
    if (configured !== undefined)
      throw new SallyportError('USAGE', 'SqlConnector is already configured.', { hint: 'Close it first.' })
    configured = openSqlDatabases(settings)
  },
  listDatabases: () => requireDatabases().listDatabases(),
  listTables: (...given) => requireDatabases().listTables(...given),
  describeTable: (...given) => requireDatabases().describeTable(...given),
  sample: (...given) => requireDatabases().sample(...given),
  query: (...given) => requireDatabases().query(...given),
  execute: (...given) => requireDatabases().execute(...given),
  async close() {
    const closing = configured
    configured = undefined
    await closing?.close()
  },
} satisfies SqlDatabases & { configure(settings: SqlSettings): void }
