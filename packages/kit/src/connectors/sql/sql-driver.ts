import type { Json } from '@sallyport/core'
import type { SqlColumn, SqlLimits, SqlRows } from './sql-result.ts'

export interface SqlRequest {
  readonly sql: string
  readonly parameters: readonly Json[]
  readonly limits: SqlLimits
  readonly signal: AbortSignal | undefined
}

/** A table or view, by name. */
export interface SqlTable {
  readonly name: string
  readonly kind: 'table' | 'view'
}

/** A column of a table. */
export interface SqlTableColumn extends SqlColumn {
  readonly nullable: boolean
  readonly primaryKey: boolean
  /** The expression in the syntax of the database. */
  readonly default?: string
}

/** A foreign key. */
export interface SqlReference {
  readonly columns: readonly string[]
  readonly table: string
  readonly references: readonly string[]
}

/** The columns and foreign keys of a table. */
export interface SqlTableShape {
  readonly name: string
  readonly columns: readonly SqlTableColumn[]
  readonly foreignKeys: readonly SqlReference[]
}

/** The result of a statement that changes data. */
export interface SqlChange extends SqlRows {
  readonly changed: number
}

/** One database. Everything runs in a session in which the database itself enforces `access`. */
export interface SqlDriver {
  run(request: SqlRequest): Promise<SqlChange>
  /** Queries about the schema, in this database's dialect; the only parameter is the name of a table. */
  readonly catalog: SqlCatalogQueries
  close(): Promise<void>
}

export interface SqlCatalogQueries {
  readonly tables: string
  readonly columns: string
  readonly foreignKeys: string
  /** Returns the name of a table, quoted for use in a statement. */
  readonly quoted: string
}
