import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Json, type JsonObject, SallyportError, type Sensitivity } from '@sallyport/core'
import { privateData } from '../../private-data/private-data.ts'
import { currentWorkspace, type Workspace } from '../../workspace/workspace.ts'
import { ConnectorError } from '../connector-error.ts'
import { withWorkspace } from '../with-workspace.ts'
import { createPostgresDriver } from './postgres-driver.ts'
import type {
  SqlCatalogQueries,
  SqlChange,
  SqlDriver,
  SqlReference,
  SqlRequest,
  SqlTable,
  SqlTableColumn,
  SqlTableShape,
} from './sql-driver.ts'
import { DEFAULT_SQL_LIMITS, type SqlLimits, type SqlRows } from './sql-result.ts'
import { SqliteProcessPool } from './sqlite-process-pool.ts'

let configured: SqlDatabases | undefined

function requireDatabases(): SqlDatabases {
  if (configured !== undefined) return configured
  throw new SallyportError('USAGE', 'SqlConnector has no databases.', {
    hint: 'Call SqlConnector.configure({ databases: { … } }) first.',
  })
}

/** SQL for tools: the databases of this program, by name. `openSqlDatabases` does the same for several sets of databases. */
export const SqlConnector = {
  /** Call it once, when the program starts; again only after `close`. */
  configure(settings: SqlSettings): void {
    if (configured !== undefined)
      throw new SallyportError('USAGE', 'SqlConnector is already configured.', { hint: 'Close it first.' })
    configured = openSqlDatabases(settings)
  },
  listDatabases: () => requireDatabases().listDatabases(),
  listTables: (...args) => requireDatabases().listTables(...args),
  describeTable: (...args) => requireDatabases().describeTable(...args),
  sample: (...args) => requireDatabases().sample(...args),
  query: (...args) => requireDatabases().query(...args),
  execute: (...args) => requireDatabases().execute(...args),
  async close() {
    const closing = configured
    configured = undefined
    await closing?.close()
  },
} satisfies SqlDatabases & { configure(settings: SqlSettings): void }

interface DatabaseOptions {
  /** Default: `read`. The database session itself enforces it. */
  readonly access?: 'read' | 'write'
  readonly description?: string
  /** The label of the calling session is raised to this before any row is returned. */
  readonly sensitivity?: Sensitivity
}

/** An SQLite database. */
export interface SqliteSettings extends DatabaseOptions {
  /** The path of a file. */
  readonly sqlite: string
}

/** A PostgreSQL database. */
export interface PostgresSettings extends DatabaseOptions {
  /** `postgres://role:password@host/database`. */
  readonly postgres: string
  /** Allows a role that can run programs on the server's machine: a read-only transaction does not prevent that. */
  readonly allowSuperuser?: boolean
}

/** The configured databases and their limits. */
export interface SqlSettings extends Partial<SqlLimits> {
  readonly databases: Readonly<Record<string, SqliteSettings | PostgresSettings>>
  /** Where a path such as /workspace/app.db is opened, read-only. Default: the workspace of the calling session. */
  readonly workspace?: () => Workspace
  /** Records that data of a sensitive database is about to be returned. Default: in the label of the calling session. */
  readonly addPrivateDataset?: (name: string, sensitivity: Sensitivity) => unknown
}

/** The parameters of a query, and limits for it alone. */
export interface SqlQueryOptions extends Partial<SqlLimits> {
  /** For `?` (SQLite) or `$1`, `$2` (PostgreSQL), by position. */
  readonly parameters?: readonly Json[]
  readonly signal?: AbortSignal
}

/** A configured database, without its credentials. */
export interface SqlDatabaseEntry {
  readonly name: string
  readonly kind: 'sqlite' | 'postgres'
  readonly access: 'read' | 'write'
  readonly description?: string
}

/** The configured databases: listing, describing, querying and changing them. */
export interface SqlDatabases {
  listDatabases(): readonly SqlDatabaseEntry[]
  listTables(database: string, options?: SqlQueryOptions): Promise<readonly SqlTable[]>
  describeTable(database: string, table: string, options?: SqlQueryOptions): Promise<SqlTableShape>
  /** The first rows of a table; `maxRows` defaults to 5. */
  sample(database: string, table: string, options?: SqlQueryOptions): Promise<SqlRows>
  query(database: string, sql: string, options?: SqlQueryOptions): Promise<SqlRows>
  /** Changes data, in a database whose `access` is `write`. */
  execute(database: string, sql: string, options?: SqlQueryOptions): Promise<SqlChange>
  /** Ends every process and connection. */
  close(): Promise<void>
}

interface OpenDatabase {
  readonly entry: SqlDatabaseEntry
  readonly driver: SqlDriver
  readonly sensitivity: Sensitivity | undefined
}

/** Opens databases by name; each is connected to when it is first used. */
export function openSqlDatabases(settings: SqlSettings): SqlDatabases {
  const processes = new SqliteProcessPool()
  const register = settings.addPrivateDataset ?? ((...dataset) => privateData().addPrivateDataset(...dataset))
  const open = new Map(
    Object.entries(settings.databases).map(([name, database]) => [name, openDatabase(name, database, processes)]),
  )
  const find = (name: string): OpenDatabase =>
    open.get(name) ?? openWorkspaceDatabase(name, settings, processes) ?? throwUnknownDatabase(name, [...open.keys()])
  const run = async (name: string, sql: string, options: SqlQueryOptions): Promise<SqlChange> => {
    const { driver, sensitivity } = find(name)
    // The drivers end a string there, and the rest would not be checked.
    if (sql.includes('\0')) throw new ConnectorError('The statement has a NUL character in it.', { retryable: true })
    // Before the first row is read: if this fails, no rows may be returned.
    if (sensitivity !== undefined) await register(name, sensitivity)
    const limits = resolveLimits({ ...settings, ...options })
    return driver.run({ sql, parameters: options.parameters ?? [], limits, signal: options.signal })
  }
  const catalog = (name: string): SqlDriver['catalog'] => find(name).driver.catalog
  return {
    listDatabases: () => [...open.values()].map(({ entry }) => entry),
    async listTables(name, options = {}) {
      return (await run(name, catalog(name).tables, options)).rows as unknown as readonly SqlTable[]
    },
    async describeTable(name, table, options = {}) {
      const request = { ...options, parameters: [table] }
      const columns = (await run(name, catalog(name).columns, request)).rows
      if (columns.length === 0) throw unknownTableError(name, table)
      const keys = (await run(name, catalog(name).foreignKeys, request)).rows
      return { name: table, columns: columns.map(readColumn), foreignKeys: keys.map(readReference) }
    },
    async sample(name, table, options = {}) {
      const quoted = (await run(name, catalog(name).quoted, { ...options, parameters: [table] })).rows[0]?.quoted
      if (typeof quoted !== 'string') throw unknownTableError(name, table)
      return toRows(await run(name, `SELECT * FROM ${quoted}`, { maxRows: 5, ...options, parameters: [] }))
    },
    query: async (name, sql, options = {}) => toRows(await run(name, sql, options)),
    async execute(name, sql, options = {}) {
      if (find(name).entry.access === 'write') return run(name, sql, options)
      throw new ConnectorError(`The database ${JSON.stringify(name)} is read-only.`, { retryable: true })
    },
    async close() {
      await Promise.all([processes.close(), ...[...open.values()].map(({ driver }) => driver.close())])
    },
  }
}

const toRows = ({ columns, rows, isCut }: SqlChange): SqlRows => ({ columns, rows, isCut })

function openDatabase(
  name: string,
  settings: SqliteSettings | PostgresSettings,
  processes: SqliteProcessPool,
): OpenDatabase {
  const { access = 'read', description, sensitivity } = settings
  const described = { name, access, ...(description === undefined ? {} : { description }) }
  if ('postgres' in settings) {
    const { postgres: url, allowSuperuser = false } = settings
    const driver = createPostgresDriver({ name, url, access, allowSuperuser })
    return { entry: { ...described, kind: 'postgres' }, driver, sensitivity }
  }
  const path = resolve(settings.sqlite)
  const openFile = async () => ({ path, release: async () => undefined })
  const driver = createSqliteDriver({ access, processes, openFile })
  return { entry: { ...described, kind: 'sqlite' }, driver, sensitivity }
}

function openWorkspaceDatabase(
  name: string,
  { workspace = currentWorkspace }: SqlSettings,
  processes: SqliteProcessPool,
): OpenDatabase | undefined {
  if (!name.startsWith('/workspace/')) return undefined
  const openFile = () => copyFromWorkspace(workspace(), name)
  const driver = createSqliteDriver({ access: 'read', processes, openFile })
  return { entry: { name, kind: 'sqlite', access: 'read' }, driver, sensitivity: undefined }
}

function throwUnknownDatabase(name: string, names: readonly string[]): never {
  throw new ConnectorError(`There is no database ${JSON.stringify(name)}. There are: ${names.join(', ') || 'none'}.`, {
    retryable: true,
  })
}

const unknownTableError = (name: string, table: string): ConnectorError =>
  new ConnectorError(`There is no table ${JSON.stringify(table)} in ${JSON.stringify(name)}. List the tables.`, {
    retryable: true,
  })

function resolveLimits(overrides: Partial<SqlLimits>): SqlLimits {
  const { maxRows, maxBytes, timeoutMs } = { ...DEFAULT_SQL_LIMITS, ...overrides }
  for (const [key, value] of Object.entries({ maxRows, maxBytes, timeoutMs }))
    if (!Number.isSafeInteger(value) || value < 1 || value > 2 ** 31 - 1)
      throw new SallyportError('USAGE', `${key} is ${value}.`, { hint: 'Expected a whole number from 1 to 2^31 - 1.' })
  return { maxRows, maxBytes, timeoutMs }
}

const readColumn = (row: JsonObject): SqlTableColumn => ({
  name: String(row.name),
  type: String(row.type),
  nullable: Boolean(row.nullable),
  primaryKey: Boolean(row.primaryKey),
  ...(typeof row.default === 'string' ? { default: row.default } : {}),
})

const readReference = (row: JsonObject): SqlReference => ({
  columns: readNames(row.columns),
  table: String(row.table),
  references: readNames(row.references),
})

/** A list from PostgreSQL, or a JSON string from SQLite. */
const readNames = (names: Json | undefined): readonly string[] =>
  (Array.isArray(names) ? names : (JSON.parse(String(names)) as string[])).map(String).filter((name) => name !== '')

const CHUNK_BYTES = 8 * 1024 * 1024
const MAX_BYTES = 256 * 1024 * 1024

/**
 * A copy of a workspace's file. SQLite opens files by name, follows links and looks for journals beside the file; anybody
 * who can write in the workspace could swap each of them. The copy is made once, with the workspace's own checks.
 */
async function copyFromWorkspace(workspace: Workspace, path: string): Promise<SqliteFile> {
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-sqlite-'))
  const release = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    const copy = join(folder, 'copy.db')
    await withWorkspace({ workspace }, () => copyChunks(workspace, path, copy))
    return { path: copy, release }
  } catch (error) {
    await release()
    throw error
  }
}

async function copyChunks(workspace: Workspace, path: string, copy: string): Promise<void> {
  const target = await open(copy, 'wx', 0o600)
  try {
    for (let offset = 0; ; ) {
      const { bytes, size } = await workspace.readFile(path, { offset, limit: CHUNK_BYTES })
      if (size > MAX_BYTES)
        throw new ConnectorError(`The database has ${size} bytes; at most ${MAX_BYTES} are read.`, { retryable: false })
      if (bytes.length === 0) return
      await target.writeFile(bytes)
      offset += bytes.length
    }
  } finally {
    await target.close()
  }
}

/** An SQLite file, for the duration of one statement. */
interface SqliteFile {
  readonly path: string
  release(): Promise<void>
}

interface SqliteOptions {
  readonly access: 'read' | 'write'
  readonly processes: SqliteProcessPool
  openFile(): Promise<SqliteFile>
}

const CATALOG_QUERIES: SqlCatalogQueries = {
  tables: `SELECT name, type AS kind FROM sqlite_schema
    WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name`,
  columns: `SELECT name, type, "notnull" = 0 AS nullable, pk > 0 AS "primaryKey", dflt_value AS "default"
    FROM pragma_table_xinfo(?) ORDER BY cid`,
  foreignKeys: `SELECT json_group_array("from") AS columns, "table", json_group_array(coalesce("to", '')) AS "references"
    FROM (SELECT * FROM pragma_foreign_key_list(?) ORDER BY id, seq) GROUP BY id`,
  quoted: `SELECT '"' || replace(name, '"', '""') || '"' AS quoted FROM sqlite_schema
    WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE`,
}

function createSqliteDriver({ access, processes, openFile }: SqliteOptions): SqlDriver {
  return {
    catalog: CATALOG_QUERIES,
    async run({ sql, parameters, limits, signal }: SqlRequest): Promise<SqlChange> {
      const file = await openFile()
      try {
        const answer = await processes.run({ file: file.path, access, sql, parameters, limits }, signal)
        if (answer.kind !== 'rows') throw new ConnectorError(answer.message, { retryable: answer.kind === 'refused' })
        return { columns: answer.columns, rows: answer.rows, isCut: answer.isCut, changed: answer.changed }
      } finally {
        await file.release()
      }
    },
    close: async () => undefined,
  }
}
