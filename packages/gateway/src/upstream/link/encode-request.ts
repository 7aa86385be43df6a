import { CALLER_META, type Era, isJsonObject, type JsonObject, META, MODERN_VERSION, printJson } from '@sallyport/core'
import type { Client } from '../client.ts'
import type { OutgoingCall } from './outgoing-call.ts'

/**
 * What a modern request says about its sender. A legacy server got this in the handshake; one that knows both eras
 * would treat a request with these members as a modern one.
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
  /** Says who makes the request. A client's own member of this name was removed when its request came in. */
  readonly callerToken?: string | undefined
}

/** A request as it goes out. */
export function encodeRequest(id: number, request: OutgoingCall, sender: Sender): string {
  const params = formatIntroducedParams(id, request, sender) ?? formatParams(id, request, sender)
  return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(request.method)},"params":${params}}`
}

/** What a modern server gets to know about a client, as members of `_meta`. After `initialize` it is not repeated. */
export function formatIntroduction({ clientInfo, capabilities, logLevel }: IntroducedClient): string {
  const members =
    formatMember(META.protocolVersion, MODERN_VERSION) +
    formatMember(META.clientInfo, clientInfo) +
    formatMember(META.clientCapabilities, capabilities) +
    formatMember(META.logLevel, logLevel)
  return members.slice(1)
}

type IntroducedClient = Pick<Client, 'clientInfo' | 'capabilities' | 'logLevel'>

/** Uses the part that was serialized once for a legacy client; `undefined` if the request needs more than that. */
function formatIntroducedParams(id: number, request: OutgoingCall, { era, callerToken }: Sender): string | undefined {
  const { params, client, onProgress, trace, span } = request
  const introduction = client?.introduction
  if (introduction === undefined || era !== 'modern' || trace || span) return undefined
  const given = isJsonObject(params._meta) ? params._meta : {}
  let theirs = ''
  for (const key in given) {
    if (MODERN_ENVELOPE.has(key) || key === CALLER_META) return undefined
    if (key !== 'progressToken') theirs += formatMember(key, given[key])
  }
  const members = theirs === '' ? introduction : `${theirs.slice(1)},${introduction}`
  const meta = `{${members}${onProgress ? formatMember('progressToken', id) : ''}}`
  return joinParams(params, addCaller(meta, callerToken))
}

function formatParams(id: number, request: OutgoingCall, sender: Sender): string {
  const { params } = request
  const meta = buildMeta(id, request, sender)
  return joinParams(params, addCaller(meta && printJson(meta), sender.callerToken))
}

/**
 * Added to the text: the `_meta` of a client is often the same, and is serialized once. Our own token has no character
 * that JSON escapes.
 */
function addCaller(meta: string | undefined, token: string | undefined): string | undefined {
  if (token === undefined) return meta
  const member = `${PRINTED_CALLER}:"${token}"`
  return meta === undefined || meta === '{}' ? `{${member}}` : `${meta.slice(0, -1)},${member}}`
}

const PRINTED_CALLER = JSON.stringify(CALLER_META)

/** Built from pieces: what is serialized already is not serialized again, and nothing is copied first. */
function joinParams(params: JsonObject, meta: string | undefined): string {
  let members = ''
  for (const key in params) if (key !== '_meta') members += formatMember(key, params[key])
  if (meta !== undefined) members += `,"_meta":${meta}`
  return `{${members.slice(1)}}`
}

function formatMember(key: string, value: unknown): string {
  const text = value === undefined ? undefined : JSON.stringify(value)
  return text === undefined ? '' : `,${PRINTED_KEYS.get(key) ?? JSON.stringify(key)}:${text}`
}

/** The keys of nearly all requests: printing a key costs as much as printing its value. */
const PRINTED_KEYS: ReadonlyMap<string, string> = new Map(
  ['name', 'arguments', 'progressToken'].map((key) => [key, JSON.stringify(key)]),
)

function buildMeta(id: number, request: OutgoingCall, { era, clientInfo }: Sender): JsonObject | undefined {
  const { method, params, client, onProgress, trace, span } = request
  const theirs = isJsonObject(params._meta) ? params._meta : undefined
  const isModern = era === 'modern' || method === 'server/discover'
  if (theirs && isModern && isCompleteMeta(theirs) && !onProgress && !trace && !span) return theirs
  // Without a prototype: a client's key "__proto__" is an ordinary key.
  const ours: Record<string, unknown> = Object.create(null)
  for (const key in theirs)
    if (key !== 'progressToken' && key !== CALLER_META && (isModern || !MODERN_ENVELOPE.has(key)))
      ours[key] = theirs[key]
  if (isModern) {
    ours[META.protocolVersion] = MODERN_VERSION
    ours[META.clientInfo] ??= client?.clientInfo ?? clientInfo
    ours[META.clientCapabilities] ??= client?.capabilities ?? {}
    ours[META.logLevel] ??= client?.logLevel
    Object.assign(ours, trace)
  }
  Object.assign(ours, span)
  // The client's token stays its own: between us and the server, our token is used.
  if (onProgress) ours.progressToken = id
  for (const _any in ours) return ours as JsonObject
  return undefined
}

/** A modern client has sent everything that the server needs. */
const isCompleteMeta = (meta: JsonObject): boolean =>
  meta[META.protocolVersion] === MODERN_VERSION &&
  meta[META.clientInfo] !== undefined &&
  meta[META.clientCapabilities] !== undefined &&
  meta.progressToken === undefined &&
  meta[CALLER_META] === undefined
