import type { Json, JsonObject } from '@sallyport/core'
import type { SqlColumn, SqlLimits } from './sql-result.ts'

/** One statement for the process that runs SQLite. */
export interface SqliteJob {
  readonly file: string
  readonly access: 'read' | 'write'
  readonly sql: string
  readonly parameters: readonly Json[]
  readonly limits: SqlLimits
}

export type SqliteAnswer =
  | {
      readonly kind: 'rows'
      readonly columns: readonly SqlColumn[]
      readonly rows: readonly JsonObject[]
      readonly isCut: boolean
      readonly changed: number
    }
  /** An error of the statement. */
  | { readonly kind: 'refused'; readonly message: string }
  /** An error that no other statement would avoid. */
  | { readonly kind: 'broken'; readonly message: string }
