import { isJsonList, isJsonObject, type Json } from '@sallyport/core'
import { ConnectorError } from '../connector-error.ts'
import type { Parameter } from './operation.ts'

const stringifyValue = (value: Json | undefined): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '')

/** Half a surrogate pair cannot be encoded. */
const toWellFormed = (text: string): string => Buffer.from(text).toString()

const encodeValue = (value: Json | undefined): string => encodeURIComponent(toWellFormed(stringifyValue(value)))

const argumentError = (parameter: Parameter, why: string): ConnectorError =>
  new ConnectorError(`The argument ${JSON.stringify(parameter.key)} ${why}.`, { retryable: true })

/** Style `simple`: `a,b`, and `k,v` or `k=v` for an object. */
function formatSimple({ explode, isJson }: Parameter, value: Json, write: (value: Json | undefined) => string): string {
  if (isJson) return write(JSON.stringify(value))
  if (isJsonList(value)) return value.map(write).join(',')
  if (!isJsonObject(value)) return write(value)
  return Object.entries(value)
    .map(([key, inner]) => `${write(key)}${explode ? '=' : ','}${write(inner)}`)
    .join(',')
}

/** One value in a path. It stays inside its own segment, also for a server that decodes slashes before it looks. */
export function formatPathParameter(parameter: Parameter, value: Json): string {
  if (parameter.style !== 'simple')
    throw argumentError(parameter, `has the style ${parameter.style}, which is not supported`)
  const text = formatSimple(parameter, value, encodeValue)
  if (text === '') throw argumentError(parameter, 'is empty, but stands in the path')
  if (hasDotSegment(formatSimple(parameter, value, stringifyValue)))
    throw argumentError(parameter, 'would lead to another path')
  return text
}

const MAX_DECODINGS = 5

/** Whether a server that decodes a path, once or again and again, may find a segment of dots in it. */
export function hasDotSegment(path: string): boolean {
  let text = path
  for (let round = 0; round < MAX_DECODINGS; round++) {
    // Some servers cut off what is behind a semicolon.
    if (text.split(/[/\\]/).some((part) => /^\.\.?(?:;|$)/.test(part))) return true
    const decoded = text.replaceAll(/%(25|2e|2f|5c|3b)/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    )
    if (decoded === text) return false
    text = decoded
  }
  return true
}

const DELIMITERS: Readonly<Record<string, string>> = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C' }

/** The pairs of a parameter of a query, or of a cookie, encoded and joined. */
export function formatPairs(parameter: Parameter, value: Json): readonly string[] {
  const { name, style, explode, isJson } = parameter
  if (isJson) return [`${encodeValue(name)}=${encodeValue(JSON.stringify(value))}`]
  if (style === 'deepObject' && isJsonObject(value))
    return Object.entries(value).map(
      ([key, inner]) => `${encodeValue(name)}%5B${encodeValue(key)}%5D=${encodeValue(inner)}`,
    )
  const delimiter = DELIMITERS[style] ?? ','
  if (isJsonList(value))
    return explode
      ? value.map((item) => `${encodeValue(name)}=${encodeValue(item)}`)
      : [`${encodeValue(name)}=${value.map(encodeValue).join(delimiter)}`]
  if (!isJsonObject(value)) return [`${encodeValue(name)}=${encodeValue(value)}`]
  const pairs = Object.entries(value)
  return explode
    ? pairs.map(([key, inner]) => `${encodeValue(key)}=${encodeValue(inner)}`)
    : [
        `${encodeValue(name)}=${pairs.flatMap(([key, inner]) => [encodeValue(key), encodeValue(inner)]).join(delimiter)}`,
      ]
}

/** A header cannot hold line ends, nor what is outside Latin-1. */
export function formatHeader(parameter: Parameter, value: Json): string {
  const text = formatSimple(parameter, value, stringifyValue)
  if (!/^[\t\x20-\x7e\xa0-\xff]*$/.test(text))
    throw argumentError(parameter, 'has characters that a header cannot hold')
  return text
}
