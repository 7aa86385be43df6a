import {
  isJsonList,
  isJsonObject,
  type Json,
  type JsonObject,
  SallyportError,
  sanitizeClientMeta,
  stripReservedMeta,
} from '@sallyport/core'
import { MAX_ID_LENGTH, type RequestId, toRequestId } from './request-id.ts'
import { readStrictJson } from './strict-json.ts'

/** A message from a client, after strict parsing. */
export type ClientMessage =
  | { readonly kind: 'request'; readonly id: RequestId; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'response'; readonly id: RequestId; readonly message: JsonObject }

export interface InvalidMessage {
  readonly error: SallyportError
  /** The id for the answer, if it could be read. */
  readonly id: RequestId | undefined
  /** The messages of a batch, which only one version of the protocol has. */
  readonly batch?: readonly Json[]
}

const MAX_METHOD_LENGTH = 256
/** A refusal must be cheap: in a larger refused message, the id is not searched. */
const MAX_ID_SEARCH_BYTES = 65_536

/** Parses one message strictly. An accepted message is sent on in our own serialization, so no two parsers can read it differently. */
export function readMessage(bytes: Buffer): ClientMessage | InvalidMessage {
  const read = readStrictJson(bytes)
  if ('problem' in read)
    return invalidMessage('PARSE_ERROR', `The message is not acceptable JSON: ${read.problem}.`, findId(bytes))
  const { value } = read
  if (!isJsonList(value)) return readElement(value)
  const refusal = 'Batches are not part of the protocol: send one message at a time.'
  return { ...invalidMessage('INVALID_REQUEST', refusal), batch: value }
}

/** One message, by itself or in a batch. */
export function readElement(value: Json): ClientMessage | InvalidMessage {
  return isJsonObject(value) ? classify(value) : invalidMessage('INVALID_REQUEST', 'A message is a JSON object.')
}

/** Over a pipe, only the id tells a client which of its requests was refused. */
function findId(bytes: Buffer): RequestId | undefined {
  if (bytes.length > MAX_ID_SEARCH_BYTES) return undefined
  try {
    const message: unknown = JSON.parse(bytes.toString('utf8'))
    return isJsonObject(message) && isPlainId(message.id) ? message.id : undefined
  } catch {
    return undefined
  }
}

function classify(message: JsonObject): ClientMessage | InvalidMessage {
  const { method } = message
  const id = toRequestId(message.id)
  // Serializers of several languages print a missing member as null.
  const params = message.params ?? {}
  if (message.jsonrpc !== '2.0') return invalidMessage('INVALID_REQUEST', '"jsonrpc" must be "2.0".', id)
  if (id === undefined && message.id !== undefined)
    return invalidMessage(
      'INVALID_REQUEST',
      `"id" must be an integer or a string, of at most ${MAX_ID_LENGTH} characters.`,
    )
  if (method === undefined) return classifyResponse(message)
  if (typeof method !== 'string' || method.length > MAX_METHOD_LENGTH)
    return invalidMessage(
      'INVALID_REQUEST',
      `"method" must be a string of at most ${MAX_METHOD_LENGTH} characters.`,
      id,
    )
  if (message.result !== undefined || message.error !== undefined)
    return invalidMessage('INVALID_REQUEST', 'A message with a method must have neither a result nor an error.', id)
  if (!isJsonObject(params)) return invalidMessage('INVALID_PARAMS', '"params" must be an object.', id)
  if (params._meta !== undefined && params._meta !== null && !isJsonObject(params._meta))
    return invalidMessage('INVALID_PARAMS', '"_meta" must be an object.', id)
  const clean = withoutGatewayFields(params)
  return id === undefined
    ? { kind: 'notification', method, params: clean }
    : { kind: 'request', id, method, params: clean }
}

/** Removes metadata that only the gateway may set, so that clients cannot send it to us or to servers. Arguments are data and stay unchanged. */
function withoutGatewayFields(given: JsonObject): JsonObject {
  const params = withoutNulls(given)
  const { _meta, inputResponses } = params
  const meta = isJsonObject(_meta) ? sanitizeClientMeta(_meta) : _meta
  const responses = inputResponses === undefined ? undefined : stripReservedMeta(inputResponses)
  if (meta === _meta && responses === inputResponses) return params
  return {
    ...params,
    ...(meta !== undefined && { _meta: meta }),
    ...(responses !== undefined && { inputResponses: responses }),
  }
}

/** Members of the protocol that serializers print as null if they are missing. Servers would reject them. */
const NULLABLE_PARAMS: ReadonlySet<string> = new Set(['_meta', 'arguments', 'cursor'])

function withoutNulls(params: JsonObject): JsonObject {
  if (params._meta !== null && params.arguments !== null && params.cursor !== null) return params
  return Object.fromEntries(
    Object.entries(params).filter(([name, value]) => value !== null || !NULLABLE_PARAMS.has(name)),
  )
}

function classifyResponse(given: JsonObject): ClientMessage | InvalidMessage {
  const message = withoutNullCounterpart(given)
  const id = toRequestId(message.id)
  if (id === undefined || (message.result === undefined) === (message.error === undefined)) {
    return invalidMessage('INVALID_REQUEST', 'A message has a method, or an id with either a result or an error.', id)
  }
  return { kind: 'response', id, message: stripReservedMeta(message) }
}

/** JSON-RPC 1.0 had both members in every response, one of them null. Some libraries still print it so. */
function withoutNullCounterpart(message: JsonObject): JsonObject {
  const { result, error, ...others } = message
  if (result != null && error === null) return { ...others, result }
  return error != null && result === null ? { ...others, error } : message
}

/** In a message that was refused, a number may have been rounded. */
export const isPlainId = (id: Json | undefined): id is RequestId =>
  typeof id === 'string' ? id.length <= MAX_ID_LENGTH : Number.isSafeInteger(id)

function invalidMessage(
  code: 'PARSE_ERROR' | 'INVALID_REQUEST' | 'INVALID_PARAMS',
  message: string,
  id?: RequestId,
): InvalidMessage {
  return { error: new SallyportError(code, message), id }
}
