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
  /** The expression, as the database writes it. */
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

/** What a statement that changes data did. */
export interface SqlChange extends SqlRows {
  readonly changed: number
}

/** One database. Everything runs in a session that the database itself keeps to what `access` allows. */
export interface SqlDriver {
  run(request: SqlRequest): Promise<SqlChange>
  /** Questions about the schema, in this database's dialect; the name of a table is the one parameter. */
  readonly catalog: SqlCatalogQueries
  close(): Promise<void>
}

export interface SqlCatalogQueries {
  readonly tables: string
  readonly columns: string
  readonly foreignKeys: string
  /** Gives the name of a table in a form that can stand in a statement. */
  readonly quoted: string
}
