import { hasDuplicateKey, isDeeperThan, isJsonObject, type Json, type JsonObject, MAX_DEPTH } from '@sallyport/core'
import { CALLER_META } from './identity/identity.ts'

export type RequestId = string | number

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: Json
}

/** The outcome of one request. A refusal is a value: only bugs are thrown. */
export type Answer =
  | {
      readonly result: object
      /** Default: complete. Only the kit can ask for input, not the return value of a handler. */
      readonly resultType?: 'input_required'
    }
  | { readonly error: RpcError }

export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
export const HEADER_MISMATCH = -32020
export const MISSING_CAPABILITY = -32021
export const UNSUPPORTED_PROTOCOL_VERSION = -32022
/** Used in the legacy era; the modern era uses INVALID_PARAMS. */
export const RESOURCE_NOT_FOUND = -32002

export function errorAnswer(code: number, message: string, data?: Json): { readonly error: RpcError } {
  return { error: data === undefined ? { code, message } : { code, message, data } }
}

export const isRequestId = (value: unknown): value is RequestId =>
  typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))

export function createRequest(id: RequestId, method: string, params: JsonObject): object {
  return { jsonrpc: '2.0', id, method, params }
}

export function createNotification(method: string, params?: JsonObject): object {
  return { jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) }
}

type AnyMessage =
  | { readonly kind: 'request'; readonly id: RequestId; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'response'; readonly id: RequestId | null; readonly result: Json | undefined }
  | { readonly kind: 'bad'; readonly id: RequestId | null; readonly error: RpcError }

/** A received message, of one kind or of any. */
export type Incoming<Kind extends AnyMessage['kind'] = AnyMessage['kind']> = Extract<
  AnyMessage,
  { readonly kind: Kind }
>

/** A deeper message is refused before it is parsed, so its refusal has no id. */
export const MAX_UNPARSED_DEPTH = 1_000

/**
 * Parses the text of a message. Throws if it is not JSON. Of two equal members of a message with a caller token, a proxy
 * before us may have checked the other one.
 */
export function parseMessage(text: string): { readonly message: unknown } | { readonly error: RpcError } {
  const message: unknown = JSON.parse(text)
  if (!hasCallerToken(message) || isEnvelopeUnique(text) || !hasDuplicateKey(text)) return { message }
  return errorAnswer(INVALID_REQUEST, 'A message with a caller token has an object with the same member twice.')
}

const ENVELOPE_KEYS = ['"params"', '"_meta"', `"${CALLER_META}"`]
/** The escapes with which these keys could be written differently. */
const KEY_ESCAPE = /\\[u/]/

/** Whether it is obvious that the members around the token are there once. To search all keys of a large message is slow. */
function isEnvelopeUnique(text: string): boolean {
  return !KEY_ESCAPE.test(text) && ENVELOPE_KEYS.every((key) => text.indexOf(key) === text.lastIndexOf(key))
}

function hasCallerToken(message: unknown): boolean {
  const params = isJsonObject(message) ? message.params : undefined
  const meta = isJsonObject(params) ? params._meta : undefined
  return isJsonObject(meta) && Object.hasOwn(meta, CALLER_META)
}

export function readMessage(message: unknown): Incoming {
  if (!isJsonObject(message) || message.jsonrpc !== '2.0')
    return badMessage(null, 'Expected one JSON-RPC 2.0 message: an object.')
  const { id, method, params = {} } = message
  const answerable = isRequestId(id) ? id : null
  if (typeof method !== 'string')
    return 'result' in message || 'error' in message
      ? {
          kind: 'response',
          id: answerable,
          result: isDeeperThan(message.result, MAX_DEPTH) ? undefined : message.result,
        }
      : badMessage(answerable, 'The method is missing or not a string.')
  if ('result' in message || 'error' in message)
    return badMessage(answerable, 'A message with a method must have neither a result nor an error.')
  if (id !== undefined && answerable === null) return badMessage(null, 'The id is neither a string nor a number.')
  if (!isJsonObject(params)) return badMessage(answerable, 'The params are not an object.')
  // Deeper params would exhaust the stack of any recursive code that reads them later.
  if (isDeeperThan(params, MAX_DEPTH))
    return badMessage(answerable, `The params are nested deeper than ${MAX_DEPTH} levels.`)
  return answerable === null
    ? { kind: 'notification', method, params }
    : { kind: 'request', id: answerable, method, params }
}

const badMessage = (id: RequestId | null, message: string): Incoming => ({
  kind: 'bad',
  id,
  ...errorAnswer(INVALID_REQUEST, message),
})
