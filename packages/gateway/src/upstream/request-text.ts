import { type Era, isJsonObject, type JsonObject, META, MODERN_VERSION, printJson } from '@sallyport/core'
import type { LinkRequest } from './link-request.ts'

/**
 * What a modern request says of its sender. A legacy server was told in the handshake; one that knows both eras would
 * take a request that carries these for a modern one.
 */
const MODERN_ENVELOPE: ReadonlySet<string> = new Set([
  META.protocolVersion,
  META.clientInfo,
  META.clientCapabilities,
  META.logLevel,
])

export interface Sender {
  readonly era: Era
  readonly clientInfo: JsonObject
}

/** A request as it goes out. */
export function requestText(id: number, request: LinkRequest, sender: Sender): string {
  const { method, params } = request
  const printed = membersOf(params, metaOf(id, request, sender)).slice(1)
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":{${printed}}}`
}

/** Piece by piece: what is printed already need not be printed again, and nothing is copied first. */
function membersOf(params: JsonObject, meta: JsonObject | undefined): string {
  let members = ''
  for (const key in params) if (key !== '_meta') members += member(key, params[key])
  return meta === undefined ? members : `${members},"_meta":${printJson(meta)}`
}

function member(key: string, value: unknown): string {
  const text = value === undefined ? undefined : JSON.stringify(value)
  return text === undefined ? '' : `,${JSON.stringify(key)}:${text}`
}

function metaOf(id: number, request: LinkRequest, { era, clientInfo }: Sender): JsonObject | undefined {
  const { method, params, client, onProgress, trace, span } = request
  const theirs = isJsonObject(params._meta) ? params._meta : undefined
  const isModern = era === 'modern' || method === 'server/discover'
  if (theirs && isModern && saysAll(theirs) && !onProgress && !trace && !span) return theirs
  // Without a prototype: a client's key "__proto__" is a key like any other.
  const ours: Record<string, unknown> = Object.create(null)
  for (const key in theirs)
    if (key !== 'progressToken' && (isModern || !MODERN_ENVELOPE.has(key))) ours[key] = theirs[key]
  if (isModern) {
    ours[META.protocolVersion] = MODERN_VERSION
    ours[META.clientInfo] ??= client?.clientInfo ?? clientInfo
    ours[META.clientCapabilities] ??= client?.capabilities ?? {}
    ours[META.logLevel] ??= client?.logLevel
    Object.assign(ours, trace)
  }
  Object.assign(ours, span)
  // Their token is theirs: to us the server speaks of ours.
  if (onProgress) ours.progressToken = id
  for (const _any in ours) return ours as JsonObject
  return undefined
}

/** A modern client has said everything that the server wants to know. */
const saysAll = (meta: JsonObject): boolean =>
  meta[META.protocolVersion] === MODERN_VERSION &&
  meta[META.clientInfo] !== undefined &&
  meta[META.clientCapabilities] !== undefined &&
  meta.progressToken === undefined
