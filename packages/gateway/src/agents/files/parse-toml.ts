import { createRequire } from 'node:module'
import type { Json } from '@sallyport/core'
import type { TomlError } from 'smol-toml'
import { isTooDeep, MAX_DEPTH, type ParsedText, problemAt, TOO_DEEP } from './parsed-text.ts'

type SmolToml = typeof import('smol-toml')

let loaded: SmolToml | undefined

/** Loaded for the first TOML file: only one agent has one. */
function toml(): SmolToml {
  loaded ??= createRequire(import.meta.url)('smol-toml') as SmolToml
  return loaded
}

export function parseToml(text: string): ParsedText {
  try {
    const table = toml().parse(text, { integersAsBigInt: 'asNeeded', maxDepth: MAX_DEPTH })
    // Tables can be nested by dotted keys too, which the library does not count.
    if (isTooDeep(table as unknown as Json)) return problemAt(text, 0, TOO_DEEP)
    return { ok: true, value: toJson(table) }
  } catch (error) {
    if (!(error instanceof toml().TomlError)) throw error
    return { ok: false, line: error.line, column: error.column, problem: formatTomlProblem(error) }
  }
}

/** The offset of the last of these keys: the library does not report positions. */
export function findTomlOffset(text: string, keys: readonly string[]): number | undefined {
  const key = keys.at(-1)?.replaceAll(/[^\w-]/g, '.') ?? ''
  const found = new RegExp(`^[ \\t]*(?:\\[{1,2}[ \\t]*)?["']?(?=${key}\\b)`, 'm').exec(text)
  return found === null ? undefined : found.index + found[0].length
}

/** Only the first line of the library's message: the other lines quote the file. */
function formatTomlProblem({ message }: TomlError): string {
  const [first = ''] = message.split('\n')
  return `${first.replace(/^Invalid TOML document: /, '').replace(/\.$/, '')}.`
}

/** Dates become strings; integers beyond 2^53 lose their last digits. */
function toJson(value: unknown): Json {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(toJson)
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, toJson(part)]))
  return value as Json
}
