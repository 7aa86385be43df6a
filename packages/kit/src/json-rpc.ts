import type { Json, JsonObject } from '@sallyport/core'

export type RequestId = string | number

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: Json
}

/** How one request ends. A refusal is a value: only bugs are thrown. */
export type Answer = { readonly result: object } | { readonly error: RpcError }

export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
export const UNSUPPORTED_PROTOCOL_VERSION = -32022
/** The legacy era's own code; the modern one uses INVALID_PARAMS. */
export const RESOURCE_NOT_FOUND = -32002

export function refuse(code: number, message: string, data?: Json): { readonly error: RpcError } {
  return { error: data === undefined ? { code, message } : { code, message, data } }
}

export const isRequestId = (value: unknown): value is RequestId =>
  typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))

export function notification(method: string, params?: JsonObject): object {
  return { jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) }
}
