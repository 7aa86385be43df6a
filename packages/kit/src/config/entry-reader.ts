import {
  expandVars,
  findClosest,
  isJsonList,
  isJsonObject,
  type Json,
  type JsonObject,
  toCamelCase,
  toSnakeCase,
} from '@sallyport/core'
import type { ConfigPath, ConfigTree } from './config-tree.ts'
import type { KnownKeys } from './known-keys.ts'
import type { VariableLookup } from './variables.ts'

/** Reads one entry of a file and gathers what is wrong with it. No message holds a value. */
export class EntryReader {
  readonly errors: string[] = []
  readonly warnings: string[] = []
  readonly #tree: ConfigTree
  readonly #lookup: VariableLookup

  constructor(tree: ConfigTree, lookup: VariableLookup) {
    this.#tree = tree
    this.#lookup = lookup
  }

  /** Every text with its variables, lists and nested mappings too. */
  expand(value: Json, path: ConfigPath): Json {
    if (isJsonList(value)) return value.map((item, index) => this.expand(item, [...path, index]))
    if (isJsonObject(value)) return mapObject(value, (key, item) => [key, this.expand(item, [...path, key])])
    if (typeof value !== 'string') return value
    const expansion = expandVars(value, this.#lookup)
    if (expansion.ok) return expansion.value
    for (const { message } of expansion.issues) this.reject(path, `${message}.`)
    return null
  }

  /** One spelling for every key, camelCase; unknown ones are told and left out, and keys without a value say nothing. */
  normalizeKeys(value: JsonObject, keys: KnownKeys, path: ConfigPath): JsonObject {
    const read = new Map<string, Json>()
    for (const [written, item] of Object.entries(value)) {
      const key = toCamelCase(written)
      const known = Object.hasOwn(keys, key) ? keys[key] : undefined
      const at = [...path, written]
      if (known === undefined) this.#warn(at, `this key is not known and is ignored.${suggestKey(written, keys)}`)
      else if (read.has(key)) this.reject(at, 'this key stands twice, in two spellings. Keep one of them.')
      else if (item !== null && item !== undefined) read.set(key, this.#readMember(item, known, at))
    }
    return Object.fromEntries(read)
  }

  #readMember(item: Json, known: KnownKeys[string], path: ConfigPath): Json {
    if (known === 'leaf') return item
    if (!isJsonObject(item)) {
      this.reject(path, 'expected a mapping.')
      return {}
    }
    return known === 'names' ? item : this.normalizeKeys(item, known, path)
  }

  reject(path: ConfigPath, problem: string): void {
    this.errors.push(this.#formatProblem(path, problem))
  }

  #warn(path: ConfigPath, problem: string): void {
    this.warnings.push(this.#formatProblem(path, problem))
  }

  #formatProblem(path: ConfigPath, problem: string): string {
    return `${this.#tree.locate(path)}: ${path.join('.')}: ${problem}`
  }
}

const mapObject = (value: JsonObject, change: (key: string, item: Json) => readonly [string, Json]): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([key, item]) => change(key, item ?? null)))

function suggestKey(written: string, keys: KnownKeys): string {
  const best = findClosest(written, Object.keys(keys))
  if (best === undefined) return ''
  return ` Did you mean "${/[A-Z]/.test(written) ? best : toSnakeCase(best)}"?`
}
