import { isJsonObject, type JsonObject, SallyportError } from '@sallyport/core'
import { parseJson } from './parse-json.ts'
import { parseToml } from './parse-toml.ts'
import { parseYamlFile } from './parse-yaml-file.ts'
import type { ParsedText } from './parsed-text.ts'

export type NativeSyntax = 'json' | 'toml' | 'yaml'

const PARSERS: Readonly<Record<NativeSyntax, (text: string) => ParsedText>> = {
  json: parseJson,
  toml: parseToml,
  yaml: parseYamlFile,
}

/** All that a native file says. */
export function parseNative(text: string, path: string, syntax: NativeSyntax): JsonObject {
  const parsed = PARSERS[syntax](text.startsWith('\uFEFF') ? text.slice(1) : text)
  if (!parsed.ok) throw brokenFile(`${path}:${parsed.line}:${parsed.column}: ${parsed.problem}`)
  if (!isJsonObject(parsed.value)) throw brokenFile(`${path}:1:1: expected an object, such as {}.`)
  return parsed.value
}

/** A file of an agent that says something else than that agent's files do. */
export function brokenFile(message: string): SallyportError {
  return new SallyportError('AGENT_CONFIG_INVALID', message, {
    hint: 'Correct the file with an editor, or with the agent: Sallyport only reads it.',
  })
}
