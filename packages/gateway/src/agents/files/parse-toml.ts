import { createRequire } from 'node:module'
import type { Json } from '@sallyport/core'
import type { TomlError } from 'smol-toml'
import { isTooDeep, MAX_DEPTH, type ParsedText, problemAt, TOO_DEEP } from './parsed-text.ts'

type SmolToml = typeof import('smol-toml')

let loaded: SmolToml | undefined

/** Loaded when the first TOML file is met: one agent has one. */
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

/** Where the last of these keys stands: the library does not tell places. */
export function findTomlOffset(text: string, keys: readonly string[]): number | undefined {
  const key = keys.at(-1)?.replaceAll(/[^\w-]/g, '.') ?? ''
  const found = new RegExp(`^[ \\t]*(?:\\[{1,2}[ \\t]*)?["']?(?=${key}\\b)`, 'm').exec(text)
  return found === null ? undefined : found.index + found[0].length
}

/** The first line of the message is the library's own words; below it quotes the file. */
function formatTomlProblem({ message }: TomlError): string {
  const [first = ''] = message.split('\n')
  return `${first.replace(/^Invalid TOML document: /, '').replace(/\.$/, '')}.`
}

/** Dates stay the texts that they were; integers beyond 2^53 lose their last digits. */
function toJson(value: unknown): Json {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(toJson)
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, toJson(part)]))
  return value as Json
}
