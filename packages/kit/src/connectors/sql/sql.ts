export {
  openSqlDatabases,
  type PostgresSettings,
  SqlConnector,
  type SqlDatabaseEntry,
  type SqlDatabases,
  type SqliteSettings,
  type SqlQueryOptions,
  type SqlSettings,
} from './sql-connector.ts'
export type { SqlChange, SqlReference, SqlTable, SqlTableColumn, SqlTableShape } from './sql-driver.ts'
export type { SqlColumn, SqlLimits, SqlRows } from './sql-result.ts'
