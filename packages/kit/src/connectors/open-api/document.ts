import { isJsonDeeperThan, isJsonList, isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import { ConnectorError } from '../connector-error.ts'

const MAX_LENGTH = 16 * 1024 * 1024
const MAX_DEPTH = 500
const MAX_REFERENCES = 20

/** Reads an OpenAPI document of version 3.0 or 3.1, as JSON or YAML text or already parsed. */
export async function readOpenApiDocument(spec: string | JsonObject): Promise<JsonObject> {
  const document = typeof spec === 'string' ? await parseSpec(spec) : spec
  if (!isJsonObject(document)) throw unusableSpec('it is not an object')
  if (!/^3\.[01](\.|$)/.test(String(document.openapi)))
    throw unusableSpec(`"openapi" is ${JSON.stringify(document.openapi)?.slice(0, 50)}, expected 3.0 or 3.1`)
  return document
}

async function parseSpec(text: string): Promise<unknown> {
  if (text.length > MAX_LENGTH) throw unusableSpec(`it has ${text.length} characters, at most ${MAX_LENGTH} are read`)
  if (isJsonDeeperThan(text, MAX_DEPTH)) throw unusableSpec(`it is nested deeper than ${MAX_DEPTH} levels`)
  try {
    if (/^\s*\{/.test(text)) return JSON.parse(text)
    const { parse: parseYaml } = await import('yaml')
    // With uniqueKeys, the parser would compare each key with all others.
    return parseYaml(text, { maxAliasCount: 100, logLevel: 'error', uniqueKeys: false })
  } catch {
    // The parser's message may quote lines of the document.
    throw unusableSpec('it is neither JSON nor YAML')
  }
}

const unusableSpec = (why: string): ConnectorError =>
  new ConnectorError(`The API description cannot be used: ${why}.`, { retryable: false })

/** The value itself, or the target of its `$ref` in the same document; `undefined` if the target is missing. */
export function resolveReference(document: JsonObject, value: Json | undefined): JsonObject | undefined {
  let current = value
  for (let count = 0; count < MAX_REFERENCES; count++) {
    if (!isJsonObject(current)) return undefined
    if (typeof current.$ref !== 'string') return current
    current = lookUp(document, current.$ref)
  }
  return undefined
}

function lookUp(document: JsonObject, reference: string): Json | undefined {
  if (!reference.startsWith('#/')) return undefined
  let value: Json | undefined = document
  for (const part of reference.slice(2).split('/')) {
    const key = decodePart(part)
    const inside: Json | undefined = value
    if (isJsonList(inside)) value = inside[Number(key)]
    else value = isJsonObject(inside) && Object.hasOwn(inside, key) ? inside[key] : undefined
  }
  return value
}

function decodePart(part: string): string {
  const plain = part.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}
