import { ConnectorError } from '../connector-error.ts'
import type { SqlCatalogQueries, SqlChange, SqlDriver, SqlRequest } from './sql-driver.ts'
import type { SqliteProcessPool } from './sqlite-processes.ts'

/** A file of SQLite, for as long as one statement needs it. */
export interface SqliteFile {
  readonly path: string
  release(): Promise<void>
}

export interface SqliteOptions {
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

export function createSqliteDriver({ access, processes, openFile }: SqliteOptions): SqlDriver {
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
