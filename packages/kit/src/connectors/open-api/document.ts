import { isJsonList, isJsonObject, isTextDeeper, type Json, type JsonObject } from '@sallyport/core'
import { ConnectorError } from '../connector-error.ts'

const LARGEST = 16 * 1024 * 1024
const DEEPEST_TEXT = 500
const MOST_REFERENCES = 20

/** An OpenAPI document of version 3.0 or 3.1, from JSON or YAML text or as it was parsed. */
export async function readDocument(spec: string | JsonObject): Promise<JsonObject> {
  const document = typeof spec === 'string' ? await parse(spec) : spec
  if (!isJsonObject(document)) throw unusable('it is no object')
  if (!/^3\.[01](\.|$)/.test(String(document.openapi)))
    throw unusable(`"openapi" is ${JSON.stringify(document.openapi)?.slice(0, 50)}, expected 3.0 or 3.1`)
  return document
}

async function parse(text: string): Promise<unknown> {
  if (text.length > LARGEST) throw unusable(`it has ${text.length} characters, at most ${LARGEST} are read`)
  if (isTextDeeper(text, DEEPEST_TEXT)) throw unusable(`it is nested deeper than ${DEEPEST_TEXT} levels`)
  try {
    if (/^\s*\{/.test(text)) return JSON.parse(text)
    const { parse: parseYaml } = await import('yaml')
    // To look for a key that stands twice, it compares each key with all others.
    return parseYaml(text, { maxAliasCount: 100, logLevel: 'error', uniqueKeys: false })
  } catch {
    // The parser's words may show lines of the document.
    throw unusable('it is neither JSON nor YAML')
  }
}

const unusable = (why: string): ConnectorError =>
  new ConnectorError(`The API description cannot be used: ${why}.`, { retryable: false })

/** What a value means: itself, or what its `$ref` leads to in the same document. Nothing when that leads nowhere. */
export function resolveReference(document: JsonObject, value: Json | undefined): JsonObject | undefined {
  let current = value
  for (let count = 0; count < MOST_REFERENCES; count++) {
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
