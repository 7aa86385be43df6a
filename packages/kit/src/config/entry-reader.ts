import {
  camelCase,
  closest,
  expandVars,
  isJsonList,
  isJsonObject,
  type Json,
  type JsonObject,
  snakeCase,
} from '@sallyport/core'
import type { ConfigPath, ConfigTree } from './config-tree.ts'
import type { Keys } from './known-keys.ts'
import type { Lookup } from './variables.ts'

/** Reads one entry of a file and gathers what is wrong with it. No message holds a value. */
export class EntryReader {
  readonly errors: string[] = []
  readonly warnings: string[] = []
  readonly #tree: ConfigTree
  readonly #lookup: Lookup

  constructor(tree: ConfigTree, lookup: Lookup) {
    this.#tree = tree
    this.#lookup = lookup
  }

  /** Every text with its variables, lists and nested mappings too. */
  expand(value: Json, path: ConfigPath): Json {
    if (isJsonList(value)) return value.map((item, index) => this.expand(item, [...path, index]))
    if (isJsonObject(value)) return mapped(value, (key, item) => [key, this.expand(item, [...path, key])])
    if (typeof value !== 'string') return value
    const expansion = expandVars(value, this.#lookup)
    if (expansion.ok) return expansion.value
    for (const { message } of expansion.issues) this.reject(path, `${message}.`)
    return null
  }

  /** One spelling for every key, camelCase; unknown ones are told and left out, and keys without a value say nothing. */
  respell(value: JsonObject, keys: Keys, path: ConfigPath): JsonObject {
    const read = new Map<string, Json>()
    for (const [written, item] of Object.entries(value)) {
      const key = camelCase(written)
      const known = Object.hasOwn(keys, key) ? keys[key] : undefined
      const at = [...path, written]
      if (known === undefined) this.#warn(at, `this key is not known and is ignored.${suggestion(written, keys)}`)
      else if (read.has(key)) this.reject(at, 'this key stands twice, in two spellings. Keep one of them.')
      else if (item !== null && item !== undefined) read.set(key, this.#member(item, known, at))
    }
    return Object.fromEntries(read)
  }

  #member(item: Json, known: Keys[string], path: ConfigPath): Json {
    if (known === 'leaf') return item
    if (!isJsonObject(item)) {
      this.reject(path, 'expected a mapping.')
      return {}
    }
    return known === 'names' ? item : this.respell(item, known, path)
  }

  reject(path: ConfigPath, problem: string): void {
    this.errors.push(this.#located(path, problem))
  }

  #warn(path: ConfigPath, problem: string): void {
    this.warnings.push(this.#located(path, problem))
  }

  #located(path: ConfigPath, problem: string): string {
    return `${this.#tree.placeOf(path)}: ${path.join('.')}: ${problem}`
  }
}

const mapped = (value: JsonObject, change: (key: string, item: Json) => readonly [string, Json]): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([key, item]) => change(key, item ?? null)))

function suggestion(written: string, keys: Keys): string {
  const best = closest(written, Object.keys(keys))
  if (best === undefined) return ''
  return ` Did you mean "${/[A-Z]/.test(written) ? best : snakeCase(best)}"?`
}
