import { clientMeta, isJsonObject, type Json, type JsonObject, SallyportError, withoutOwnMeta } from '@sallyport/core'
import { readStrictJson } from './strict-json.ts'

/** A message from a client, after the strict reading. */
export type Incoming =
  | { readonly kind: 'request'; readonly id: string | number; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'response'; readonly id: string | number; readonly message: JsonObject }

export interface Misread {
  readonly error: SallyportError
  /** The id to answer to, when one could be read. */
  readonly id: Json | undefined
}

const MAX_ID_LENGTH = 256
const MAX_METHOD_LENGTH = 256
/** A refusal must cost little: of a larger message that was refused the id is not looked for. */
const MAX_SOUGHT_BYTES = 65_536

/** Reads one message strictly: what passes here is sent on in our own serialisation, so that no two readers can differ. */
export function readMessage(bytes: Buffer): Incoming | Misread {
  const read = readStrictJson(bytes)
  if ('flaw' in read) return misread('PARSE_ERROR', `The message is not acceptable JSON: ${read.flaw}.`, idIn(bytes))
  const { value } = read
  if (Array.isArray(value))
    return misread('INVALID_REQUEST', 'Batches are not part of the protocol: send one message at a time.')
  if (!isJsonObject(value)) return misread('INVALID_REQUEST', 'A message is a JSON object.')
  return classify(value)
}

/** Over a pipe nothing but its id tells a client which of its requests was refused. */
function idIn(bytes: Buffer): Json | undefined {
  if (bytes.length > MAX_SOUGHT_BYTES) return undefined
  try {
    const message: unknown = JSON.parse(bytes.toString('utf8'))
    return isJsonObject(message) ? message.id : undefined
  } catch {
    return undefined
  }
}

function classify(message: JsonObject): Incoming | Misread {
  const { id, method, params = {} } = message
  if (message.jsonrpc !== '2.0') return misread('INVALID_REQUEST', 'The member "jsonrpc" must be "2.0".', id)
  if (id !== undefined && !isId(id)) {
    return misread(
      'INVALID_REQUEST',
      `An id is a text of at most ${MAX_ID_LENGTH} characters or a whole number that JSON keeps exact.`,
    )
  }
  if (method === undefined) return classifyResponse(message)
  if (typeof method !== 'string' || method.length > MAX_METHOD_LENGTH)
    return misread('INVALID_REQUEST', `"method" must be a string of at most ${MAX_METHOD_LENGTH} characters.`, id)
  if (message.result !== undefined || message.error !== undefined)
    return misread('INVALID_REQUEST', 'A message with a method must have neither a result nor an error.', id)
  if (!isJsonObject(params)) return misread('INVALID_PARAMS', 'The member "params" must be an object.', id)
  if (params._meta !== undefined && !isJsonObject(params._meta))
    return misread('INVALID_PARAMS', 'The member "_meta" must be an object.', id)
  const clean = withoutGatewayWords(params)
  return id === undefined
    ? { kind: 'notification', method, params: clean }
    : { kind: 'request', id, method, params: clean }
}

/** What only the gateway may say is not for clients to say, neither to us nor to servers. Arguments are data. */
function withoutGatewayWords(params: JsonObject): JsonObject {
  const { _meta, inputResponses } = params
  const meta = isJsonObject(_meta) ? clientMeta(_meta) : _meta
  const responses = inputResponses === undefined ? undefined : withoutOwnMeta(inputResponses)
  if (meta === _meta && responses === inputResponses) return params
  return {
    ...params,
    ...(meta !== undefined && { _meta: meta }),
    ...(responses !== undefined && { inputResponses: responses }),
  }
}

function classifyResponse(message: JsonObject): Incoming | Misread {
  const { id } = message
  if (!isId(id) || (message.result === undefined) === (message.error === undefined)) {
    return misread('INVALID_REQUEST', 'A message has a method, or an id with either a result or an error.', id)
  }
  return { kind: 'response', id, message: withoutOwnMeta(message) }
}

export function isId(id: Json | undefined): id is string | number {
  return typeof id === 'string' ? id.length <= MAX_ID_LENGTH : Number.isSafeInteger(id)
}

function misread(code: 'PARSE_ERROR' | 'INVALID_REQUEST' | 'INVALID_PARAMS', message: string, id?: Json): Misread {
  return { error: new SallyportError(code, message), id: isId(id) ? id : undefined }
}
