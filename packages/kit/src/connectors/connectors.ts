export { ConnectorError } from './connector-error.ts'
export {
  type CsvCondition,
  CsvConnector,
  type CsvFormat,
  type CsvReadOptions,
  type CsvRow,
  type CsvRows,
  type CsvValue,
  type CsvWriteOptions,
} from './csv-connector.ts'
export {
  FileConnector,
  type FindFileOptions,
  type LineOptions,
  type Lines,
  type ListOptions,
  type ReadOptions,
  type TextEdit,
  type TextPage,
} from './file-connector.ts'
export type { FoundLine, FoundLines, LineSearch } from './file-search.ts'
export {
  type BigNumbers,
  type JsonAddition,
  JsonConnector,
  type JsonLines,
  type JsonMatches,
  type JsonPageOptions,
  type JsonReadOptions,
  type JsonSetting,
} from './json-connector.ts'
export type { JsonMatch } from './json-query.ts'
export {
  type Api,
  type ApiOperation,
  type ApiOperationShape,
  type ApiResponse,
  type ApiSettings,
  type ApiTool,
  OpenApiConnector,
  readApi,
} from './open-api/open-api.ts'
export {
  openSqlDatabases,
  type PostgresSettings,
  type SqlChange,
  type SqlColumn,
  SqlConnector,
  type SqlDatabaseEntry,
  type SqlDatabases,
  type SqliteSettings,
  type SqlLimits,
  type SqlQueryOptions,
  type SqlReference,
  type SqlRows,
  type SqlSettings,
  type SqlTable,
  type SqlTableColumn,
  type SqlTableShape,
} from './sql/sql.ts'
export type { ConnectorOptions, SensitiveSource } from './with-workspace.ts'
