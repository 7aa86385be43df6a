import type { Pool, PoolClient, Submittable } from 'pg'
import { ConnectorError } from '../connector-error.ts'
import { PostgresQuery, TooManyBytes, UnreadableRow } from './postgres-query.ts'
import { findPostgresType, toPostgresParameter } from './postgres-values.ts'
import type { SqlCatalogQueries, SqlChange, SqlDriver, SqlRequest } from './sql-driver.ts'
import { queryCancelledError, queryTimeoutError } from './sql-error.ts'
import { RowCollector, type SqlColumn } from './sql-result.ts'

export interface PostgresOptions {
  readonly name: string
  readonly url: string
  readonly access: 'read' | 'write'
  readonly allowSuperuser: boolean
}

const CONNECT_TIMEOUT_MS = 10_000
const CANCEL_TIMEOUT_MS = 5_000
const MAX_CONNECTIONS = 4

const CATALOG_QUERIES: SqlCatalogQueries = {
  tables: `SELECT (CASE WHEN pg_table_is_visible(c.oid) THEN '' ELSE quote_ident(n.nspname) || '.' END)
      || quote_ident(c.relname) AS name, CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END AS kind
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname !~ '^(pg_|information_schema$)'
      AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1`,
  columns: `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, NOT a.attnotnull AS nullable,
      EXISTS (SELECT FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY (i.indkey))
        AS "primaryKey", pg_get_expr(d.adbin, d.adrelid) AS "default"
    FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
  foreignKeys: `SELECT ARRAY(SELECT attname::text FROM unnest(k.conkey) WITH ORDINALITY AS u(n, at)
        JOIN pg_attribute ON attrelid = k.conrelid AND attnum = u.n ORDER BY at) AS columns,
      k.confrelid::regclass::text AS "table", ARRAY(SELECT attname::text FROM unnest(k.confkey)
        WITH ORDINALITY AS u(n, at) JOIN pg_attribute ON attrelid = k.confrelid AND attnum = u.n ORDER BY at)
        AS "references"
    FROM pg_constraint k WHERE k.contype = 'f' AND k.conrelid = to_regclass($1) ORDER BY k.conname`,
  quoted: 'SELECT to_regclass($1)::text AS quoted WHERE to_regclass($1) IS NOT NULL',
}

/** Roles with these rights can run programs and reach files on the server's machine, even in a read-only transaction. */
const HAS_SERVER_ACCESS = ['pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files']
  .map((role) => `pg_has_role(session_user, '${role}', 'MEMBER')`)
  .join(' OR ')

export function createPostgresDriver(options: PostgresOptions): SqlDriver {
  let pool: Promise<Pool> | undefined
  return {
    catalog: CATALOG_QUERIES,
    async run(request) {
      pool ??= openPool(options)
      try {
        return await runInSession(await pool, options, request)
      } catch (error) {
        throw postgresError(options.name, error)
      }
    },
    async close() {
      await (await pool?.catch(() => undefined))?.end()
    },
  }
}

async function openPool({ url }: PostgresOptions): Promise<Pool> {
  const { default: pg } = await import('pg').catch(() => {
    throw new ConnectorError('PostgreSQL needs the package pg: npm install pg', { retryable: false })
  })
  const pool = new pg.Pool({
    connectionString: url,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: CONNECT_TIMEOUT_MS,
    allowExitOnIdle: true,
    application_name: 'sallyport',
  })
  // If the server ends an idle connection, it is replaced when needed.
  pool.on('error', () => undefined)
  return pool
}

/** Runs one statement in its own transaction, and resets the session afterwards. */
async function runInSession(pool: Pool, options: PostgresOptions, request: SqlRequest): Promise<SqlChange> {
  if (request.signal?.aborted) throw queryCancelledError()
  const client = await pool.connect()
  const lost = (): void => undefined
  client.on('error', lost)
  let isClean = false
  try {
    await beginTransaction(client, options, request)
    const change = await runStatement(pool, client, request)
    await client.query(options.access === 'write' ? 'COMMIT' : 'ROLLBACK')
    await client.query('DISCARD ALL')
    isClean = true
    return change
  } catch (error) {
    isClean = await cleanUp(client)
    throw error
  } finally {
    client.off('error', lost)
    // A connection that may not be clean is closed.
    client.release(!isClean)
  }
}

async function cleanUp(client: PoolClient): Promise<boolean> {
  try {
    await client.query('ROLLBACK')
    await client.query('DISCARD ALL')
    return true
  } catch {
    return false
  }
}

/**
 * `SET TRANSACTION READ WRITE` works only before the first query of a transaction. So this runs a first query, which
 * asks whether read-only transactions cannot restrict the role.
 */
async function beginTransaction(client: PoolClient, options: PostgresOptions, { limits }: SqlRequest): Promise<void> {
  const mode = options.access === 'write' ? 'READ WRITE' : 'READ ONLY'
  const results: unknown = await client.query(
    `SET SESSION CHARACTERISTICS AS TRANSACTION ${mode}; BEGIN TRANSACTION ${mode};
     SET LOCAL statement_timeout = ${Math.ceil(limits.timeoutMs)}; SET LOCAL DateStyle = 'ISO';
     SET LOCAL IntervalStyle = 'postgres'; SET LOCAL bytea_output = 'hex'; SET LOCAL extra_float_digits = 1;
     SELECT ${HAS_SERVER_ACCESS} AS might`,
  )
  const access = (results as readonly { readonly rows: readonly { readonly might?: boolean }[] }[]).at(-1)
  if (access?.rows[0]?.might === false || options.allowSuperuser) return
  throw new ConnectorError(
    `The role of the database ${JSON.stringify(options.name)} can run programs or reach files on its server. ` +
      'Use a role that may only read, or set allowSuperuser.',
    { retryable: false },
  )
}

async function runStatement(pool: Pool, client: PoolClient, request: SqlRequest): Promise<SqlChange> {
  const { sql, parameters, limits, signal } = request
  let columns: readonly SqlColumn[] = []
  let types: readonly ReturnType<typeof findPostgresType>[] = []
  let collector = new RowCollector([], limits)
  const query = new PostgresQuery({
    text: sql,
    values: parameters.map(toPostgresParameter),
    limits,
    onFields(fields) {
      types = fields.map(({ dataTypeID }) => findPostgresType(dataTypeID))
      collector = new RowCollector(
        fields.map(({ name }) => name),
        limits,
      )
      columns = fields.map((_, at) => ({ name: collector.names[at] ?? '', type: types[at]?.name ?? 'other' }))
    },
    onRow: (values) =>
      collector.add(values.map((value, at) => (value === null ? null : (types[at]?.read(value) ?? value)))),
  })
  client.query(query as unknown as Submittable)
  const tag = await waitForQuery(query, { pool, client, limits, signal })
  return { columns, rows: collector.rows, isCut: collector.isCut, changed: parseChangedRows(tag) }
}

const parseChangedRows = (tag: string): number =>
  Number(/^(?:INSERT \d+|UPDATE|DELETE|MERGE) (\d+)$/.exec(tag)?.[1] ?? 0)

interface RunningQuery extends Pick<SqlRequest, 'limits' | 'signal'> {
  readonly pool: Pool
  readonly client: PoolClient
}

/** Cancels the statement at the server when the caller leaves or the timeout is over; the server's own timer may be slower. */
async function waitForQuery(query: PostgresQuery, { pool, client, limits, signal }: RunningQuery): Promise<string> {
  let stopped: ConnectorError | undefined
  let stopping: Promise<void> | undefined
  const stop = (why: ConnectorError) => (): void => {
    stopped ??= why
    stopping ??= cancelAtServer(pool, client)
  }
  const aborted = stop(queryCancelledError())
  const timer = setTimeout(stop(queryTimeoutError(limits.timeoutMs)), limits.timeoutMs)
  signal?.addEventListener('abort', aborted)
  // It may have been aborted while the transaction began.
  if (signal?.aborted) aborted()
  try {
    return await query.done
  } catch (error) {
    if (isQueryCanceled(error)) throw stopped ?? queryTimeoutError(limits.timeoutMs)
    throw stopped ?? error
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', aborted)
    // A late cancel request would hit the next statement of this session.
    await stopping
  }
}

const isQueryCanceled = (error: unknown): boolean => (error as { readonly code?: unknown }).code === '57014'

/** Cancels through a second session, which works with TLS too. If that fails, the connection is closed. */
async function cancelAtServer(pool: Pool, client: PoolClient): Promise<void> {
  const { processID, connection } = client as unknown as ClientInternals
  const { Client } = (await import('pg')).default
  const helper = new Client({
    ...pool.options,
    connectionTimeoutMillis: CANCEL_TIMEOUT_MS,
    query_timeout: CANCEL_TIMEOUT_MS,
  })
  helper.on('error', () => undefined)
  try {
    await helper.connect()
    await helper.query('SELECT pg_cancel_backend($1)', [processID])
  } catch {
    connection.stream.destroy()
  } finally {
    await helper.end().catch(() => undefined)
  }
}

interface ClientInternals {
  readonly processID: number
  readonly connection: { readonly stream: { destroy(): void } }
}

/** Errors of the statement: its syntax, names, values or rights. By the first two characters of SQLSTATE. */
const STATEMENT_ERROR_CLASSES = new Set([
  '0A',
  '21',
  '22',
  '23',
  '25',
  '26',
  '2B',
  '34',
  '38',
  '39',
  '3F',
  '40',
  '42',
  '44',
  'P0',
])

/** Converts an error of PostgreSQL: for a statement with its message, for a connection with no more than a code. */
function postgresError(name: string, error: unknown): ConnectorError {
  if (error instanceof ConnectorError) return error
  if (error instanceof TooManyBytes)
    return new ConnectorError('A row of the result is too large. Ask for less of it.', { retryable: true })
  if (error instanceof UnreadableRow)
    return new ConnectorError(
      'A row of the result cannot be read. Ask for its columns as text, or for fewer of them.',
      {
        retryable: true,
      },
    )
  const { code, message, hint, position } = error as PostgresErrorFields
  if (typeof code === 'string' && STATEMENT_ERROR_CLASSES.has(code.slice(0, 2))) {
    const where = position === undefined ? '' : ` at character ${position}`
    const advice = hint === undefined ? '' : ` ${hint}`
    return new ConnectorError(`${message}${where} (${code}).${advice}`, { retryable: true })
  }
  const why = typeof code === 'string' ? ` (${code})` : ''
  // No cause: pg's errors contain the host, and may contain what was sent.
  return new ConnectorError(`The database ${JSON.stringify(name)} cannot be used${why}.`, { retryable: false })
}

interface PostgresErrorFields {
  readonly code?: unknown
  readonly message?: string
  readonly hint?: string
  readonly position?: string
}
