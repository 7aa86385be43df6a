import { isUtf8 } from 'node:buffer'
import { isJsonObject, type Json, type JsonObject, JsonScanner, SallyportError } from '@sallyport/core'

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

/** Reads one message strictly: what passes here is sent on in our own serialisation, so that no two readers can differ. */
export function readMessage(bytes: Buffer): Incoming | Misread {
  if (!isUtf8(bytes)) return misread('PARSE_ERROR', 'The message is not UTF-8.')
  const scanner = new JsonScanner()
  scanner.feed(bytes)
  const envelope = scanner.end()
  if (!envelope) return misread('PARSE_ERROR', `The message is not acceptable JSON: ${scanner.failure ?? 'unknown'}.`)
  const message: unknown = JSON.parse(bytes.toString('utf8'))
  if (Array.isArray(message))
    return misread('INVALID_REQUEST', 'Batches are not part of the protocol: send one message at a time.')
  if (!isJsonObject(message)) return misread('INVALID_REQUEST', 'A message is a JSON object.')
  if (envelope.members !== countMembers(message))
    return misread('INVALID_REQUEST', 'A key stands twice in the same object.', message.id)
  if (envelope.hasUnsafeNumber) {
    return misread('INVALID_REQUEST', 'A number is too large to be kept exact: send it as a text.', message.id)
  }
  return classify(message)
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
    return misread('INVALID_REQUEST', 'The member "method" must be a short text.', id)
  if (!isJsonObject(params)) return misread('INVALID_PARAMS', 'The member "params" must be an object.', id)
  if (params._meta !== undefined && !isJsonObject(params._meta))
    return misread('INVALID_PARAMS', 'The member "_meta" must be an object.', id)
  return id === undefined ? { kind: 'notification', method, params } : { kind: 'request', id, method, params }
}

function classifyResponse(message: JsonObject): Incoming | Misread {
  const { id } = message
  if (!isId(id) || (message.result === undefined) === (message.error === undefined)) {
    return misread('INVALID_REQUEST', 'A message has a method, or an id with either a result or an error.', id)
  }
  return { kind: 'response', id, message }
}

function isId(id: Json | undefined): id is string | number {
  return typeof id === 'string' ? id.length <= MAX_ID_LENGTH : Number.isSafeInteger(id)
}

function countMembers(value: Json | undefined): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item)
    return count
  }
  for (const item of Object.values(value)) count += 1 + countMembers(item)
  return count
}

function misread(code: 'PARSE_ERROR' | 'INVALID_REQUEST' | 'INVALID_PARAMS', message: string, id?: Json): Misread {
  return { error: new SallyportError(code, message), id: isId(id) ? id : undefined }
}
