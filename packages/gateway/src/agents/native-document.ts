import { isJsonObject, type JsonObject, SallyportError } from '@sallyport/core'
import { findJsonOffset, parseJson } from './parse-json.ts'
import { findTomlOffset, parseToml } from './parse-toml.ts'
import { findYamlOffset, parseYamlFile } from './parse-yaml-file.ts'
import { type ParsedText, positionAt } from './parsed-text.ts'

export type NativeSyntax = 'json' | 'toml' | 'yaml'

const PARSERS: Readonly<Record<NativeSyntax, (text: string) => ParsedText>> = {
  json: parseJson,
  toml: parseToml,
  yaml: parseYamlFile,
}

/** At which offset the value of these keys is. */
const FINDERS: Readonly<Record<NativeSyntax, (text: string, keys: readonly string[]) => number | undefined>> = {
  json: findJsonOffset,
  toml: findTomlOffset,
  yaml: findYamlOffset,
}

const stripBom = (text: string): string => (text.startsWith('\uFEFF') ? text.slice(1) : text)

/** `file:line:column` of a value, of the beginning where it cannot be told. */
export function locateValue(text: string, syntax: NativeSyntax, { path, keys }: ValueLocation): string {
  const plain = stripBom(text)
  const { line, column } = positionAt(plain, FINDERS[syntax](plain, keys) ?? 0)
  return `${path}:${line}:${column}`
}

interface ValueLocation {
  readonly path: string
  readonly keys: readonly string[]
}

/** All that a native file says. */
export function parseNativeFile(text: string, path: string, syntax: NativeSyntax): JsonObject {
  const parsed = PARSERS[syntax](stripBom(text))
  if (!parsed.ok) throw invalidFileError(`${path}:${parsed.line}:${parsed.column}: ${parsed.problem}`)
  if (!isJsonObject(parsed.value)) throw invalidFileError(`${path}:1:1: expected an object, such as {}.`)
  return parsed.value
}

/** A file of an agent that says something else than that agent's files do. */
export function invalidFileError(message: string): SallyportError {
  return new SallyportError('AGENT_CONFIG_INVALID', message, {
    hint: 'Correct the file with an editor, or with the agent: Sallyport only reads it.',
  })
}
