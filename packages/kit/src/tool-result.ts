import { type Era, isJsonObject, type Json, type JsonObject, META } from '@sallyport/core'
import { toJson } from './to-json.ts'
import { neutralizeFatalPrefix, type ToolErrorDescription } from './tool-error.ts'

/** A content block: text, image, audio, resource, resource_link, or a future type. */
export interface Content {
  readonly type: string
  readonly [field: string]: unknown
}

/** A result in the format of the protocol. A handler creates one with `toolResult`. */
export interface ToolResult {
  readonly content: readonly Content[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: JsonObject
}

/** JSON has no symbols. All copies of the kit in a process share this one: the gateway bundles a copy of its own. */
const WHOLE_RESULT_BRAND: unique symbol = Symbol.for('sallyport.toolResult') as never

/** A result that was made with `toolResult`. A parsed or copied object does not count as one. */
export type WholeResult = ToolResult & { readonly [WHOLE_RESULT_BRAND]: true }

/** Wraps a string as MCP text content. */
export const textContent = (text: string): Content => ({ type: 'text', text })

/**
 * A complete result for tools that want full control. Anything else that a handler returns is data, whatever its
 * shape, so that the response of a remote API cannot become protocol. Copies the four members of a result and nothing
 * else; `_meta` keys of Sallyport and the protocol's `serverInfo` are left out.
 */
export function toolResult({ content, structuredContent, isError, _meta }: ToolResult): WholeResult {
  if (!Array.isArray(content))
    throw new TypeError(`toolResult() got ${describeType(content)} as content; expected an array.`)
  if (isError !== undefined && typeof isError !== 'boolean')
    throw new TypeError(`toolResult() got ${describeType(isError)} as isError; expected true or false.`)
  // Not with map(), which skips holes.
  const blocks = Array.from(content, (block, index) => readContent(block, `content[${index}]`))
  const meta = _meta === undefined ? undefined : stripReservedMeta(toJson(_meta))
  return brandWholeResult({
    content: isError ? blocks.map(neutralizeBlock) : blocks,
    ...(structuredContent === undefined ? {} : { structuredContent: toJson(structuredContent) }),
    ...(isError === undefined ? {} : { isError }),
    ...(meta === undefined ? {} : { _meta: meta }),
  })
}

/** For results that the kit itself built. */
export function brandWholeResult(result: ToolResult): WholeResult {
  const { content, structuredContent, isError, _meta } = result
  const marked = {
    content,
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(isError === undefined ? {} : { isError }),
    ...(_meta === undefined ? {} : { _meta }),
  }
  // Not enumerable, so that a copy does not have the brand.
  Object.defineProperty(marked, WHOLE_RESULT_BRAND, { value: true })
  return Object.freeze(marked) as WholeResult
}

export const isWholeResult = (value: unknown): value is WholeResult =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, WHOLE_RESULT_BRAND) && Object.isFrozen(value)

/** Converts a handler's return value to a result. 0, "", false, null and [] are values; only `undefined` is not. */
export function createToolResult(returned: unknown, era: Era): ToolResult {
  const result = wrapValue(returned)
  return era === 'legacy' ? wrapNonObjectStructure(result) : result
}

function wrapValue(returned: unknown): ToolResult {
  if (returned === undefined) return { content: [] }
  if (typeof returned === 'string') return { content: [textContent(returned)] }
  if (isWholeResult(returned)) return returned
  const value = toJson(returned)
  return { content: [textContent(JSON.stringify(value))], structuredContent: value }
}

export function createErrorResult(failure: ToolErrorDescription): ToolResult {
  return { content: [textContent(failure.text)], isError: true, _meta: { 'sallyport/error': failure.facts } }
}

/**
 * Before 2026-07-28 structured content had to be an object; clients of that era reject anything else. Without any, Gemini
 * CLI would take the text as structured content if it is JSON, and then reject it as well.
 */
export function wrapNonObjectStructure(result: ToolResult): ToolResult {
  const { structuredContent } = result
  if (structuredContent === undefined || isJsonObject(structuredContent)) return result
  return { ...result, structuredContent: { result: structuredContent } }
}

const REQUIRED_FIELDS: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  image: ['data', 'mimeType'],
  audio: ['data', 'mimeType'],
  resource_link: ['uri', 'name'],
}

/** Converts one block to JSON. Throws if a client could not show it. */
export function readContent(block: unknown, where: string): Content {
  const json = toJson(block)
  if (!isJsonObject(json) || typeof json.type !== 'string' || json.type === '')
    throw new TypeError(`${where} is ${describeType(block)}; expected a block with a type, such as textContent('…').`)
  const required = Object.hasOwn(REQUIRED_FIELDS, json.type) ? REQUIRED_FIELDS[json.type] : []
  for (const field of required ?? [])
    if (typeof json[field] !== 'string')
      throw new TypeError(`${where}.${field} of type ${json.type} is ${describeType(json[field])}; expected a string.`)
  const { resource } = json
  if (json.type === 'image' || json.type === 'audio') requireBase64(json.data, `${where}.data`)
  if (json.type === 'resource') requireResource(resource, where)
  const cleaned = isJsonObject(resource) ? { ...json, resource: withoutReservedMeta(resource) } : json
  return withoutReservedMeta(cleaned) as JsonObject & Content
}

function requireResource(resource: Json | undefined, where: string): void {
  const isWhole =
    isJsonObject(resource) &&
    typeof resource.uri === 'string' &&
    (typeof resource.text === 'string' || typeof resource.blob === 'string')
  if (!isWhole) throw new TypeError(`${where}.resource must have a uri, and a text or a blob; all of them strings.`)
  requireBase64(resource.blob, `${where}.resource.blob`)
}

/** A client discards the whole result if it cannot decode one block. */
function requireBase64(data: Json | undefined, where: string): void {
  if (typeof data !== 'string') return
  const isDecodable = !/[^A-Za-z0-9+/=]|=[^=]|===/.test(data) && data.replace(/=+$/, '').length % 4 !== 1
  if (!isDecodable) throw new TypeError(`${where} is not base64. Give buffer.toString('base64').`)
}

function withoutReservedMeta(carrier: JsonObject): JsonObject {
  return carrier._meta === undefined ? carrier : { ...carrier, _meta: stripReservedMeta(carrier._meta) }
}

const RESERVED_META_PREFIX = 'sallyport/'

/** Removes the `_meta` keys that only the kit may set. */
function stripReservedMeta(meta: Json | undefined): JsonObject {
  if (!isJsonObject(meta)) throw new TypeError(`_meta is ${describeType(meta)}; expected an object.`)
  return Object.fromEntries(
    Object.entries(meta).filter(([key]) => !key.startsWith(RESERVED_META_PREFIX) && key !== META.serverInfo),
  )
}

/** Only a ToolFatalError ends a run: text that contains somebody else's input must not. */
function neutralizeBlock(block: Content): Content {
  return block.type === 'text' ? { ...block, text: neutralizeFatalPrefix(String(block.text)) } : block
}

function describeType(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'an array' : `of type ${typeof value}`
}
