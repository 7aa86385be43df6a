import type { Json, JsonObject } from '@sallyport/core'

/** A column of a result. */
export interface SqlColumn {
  readonly name: string
  /** The database's name of the type; missing if it does not report one. */
  readonly type?: string
}

/** The rows of a query. */
export interface SqlRows {
  readonly columns: readonly SqlColumn[]
  readonly rows: readonly JsonObject[]
  /** True if there were more rows than the limits allow. */
  readonly isCut: boolean
}

/** The limits of each query. */
export interface SqlLimits {
  readonly maxRows: number
  readonly maxBytes: number
  readonly timeoutMs: number
}

export const DEFAULT_SQL_LIMITS: SqlLimits = { maxRows: 1_000, maxBytes: 4 * 1024 * 1024, timeoutMs: 30_000 }

/** Collects rows up to the limits. */
export class RowCollector {
  readonly #names: readonly string[]
  readonly #limits: SqlLimits
  readonly #rows: JsonObject[] = []
  #bytes = 0
  #isCut = false

  constructor(names: readonly string[], limits: SqlLimits) {
    this.#names = uniqueNames(names)
    this.#limits = limits
  }

  get names(): readonly string[] {
    return this.#names
  }

  get rows(): readonly JsonObject[] {
    return this.#rows
  }

  get isCut(): boolean {
    return this.#isCut
  }

  /** Returns false if the row does not fit: no more rows are needed then. */
  add(values: readonly Json[]): boolean {
    if (this.#isCut) return false
    const row = Object.fromEntries(this.#names.map((name, at) => [name, values[at] ?? null]))
    this.#bytes += Buffer.byteLength(JSON.stringify(row))
    this.#isCut = this.#rows.length >= this.#limits.maxRows || this.#bytes > this.#limits.maxBytes
    if (!this.#isCut) this.#rows.push(row)
    return !this.#isCut
  }
}

/** `SELECT a.id, b.id` has two columns of the same name. As members of one object, the second would hide the first. */
function uniqueNames(names: readonly string[]): readonly string[] {
  const taken = new Set(names)
  const seen = new Set<string>()
  return names.map((name) => {
    let unique = name
    for (let count = 2; seen.has(unique); count++) {
      const next = `${name}_${count}`
      unique = taken.has(next) && !seen.has(next) ? unique : next
    }
    seen.add(unique)
    return unique
  })
}

/** An integer beyond 2^53 becomes a string: a JSON number would be rounded. */
export const toJsonInteger = (value: bigint): Json =>
  value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER)
    ? Number(value)
    : value.toString()

/** JSON has no infinity and no NaN: these become strings. */
export const toJsonReal = (value: number): Json => (Number.isFinite(value) ? value : String(value))
