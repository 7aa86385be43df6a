export { SqlConnector } from './sql-connector.ts'
export {
  openSqlDatabases,
  type PostgresSettings,
  type SqlDatabaseEntry,
  type SqlDatabases,
  type SqliteSettings,
  type SqlQueryOptions,
  type SqlSettings,
} from './sql-databases.ts'
export type { SqlChange, SqlReference, SqlTable, SqlTableColumn, SqlTableShape } from './sql-driver.ts'
export type { SqlColumn, SqlLimits, SqlRows } from './sql-result.ts'
