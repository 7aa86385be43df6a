import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, type JsonObject, LEGACY_VERSIONS, META, MODERN_VERSION, SallyportError } from '@sallyport/core'
import { decodeHeaderValue } from '@sallyport/kit/http-intake'
import type { ClientMessage } from './client-message.ts'

type RequestOrNotification = Extract<ClientMessage, { method: string }>
type RequestMessage = Extract<ClientMessage, { kind: 'request' }>

/** The parameter that the header Mcp-Name repeats, by method. */
const NAME_PARAMS: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

const SUPPORTED_VERSIONS: readonly string[] = [MODERN_VERSION, ...LEGACY_VERSIONS]

const readVersion = (message: RequestOrNotification): unknown =>
  isJsonObject(message.params._meta) ? message.params._meta[META.protocolVersion] : undefined

/** A message of the modern era contains its version. */
export function isModern(message: RequestOrNotification, headers?: IncomingHttpHeaders): boolean {
  return readVersion(message) !== undefined || headers?.['mcp-protocol-version'] === MODERN_VERSION
}

/** The problem of a modern request's envelope, for any transport; `undefined` if there is none. */
export function checkEnvelope(message: RequestMessage): SallyportError | undefined {
  const version = readVersion(message)
  if (typeof version !== 'string')
    return new SallyportError('INVALID_PARAMS', `"_meta" must have ${META.protocolVersion}.`)
  if (version !== MODERN_VERSION) {
    return new SallyportError(
      'VERSION_UNSUPPORTED',
      `Protocol version ${JSON.stringify(version.slice(0, 100))} is not supported; supported are ${SUPPORTED_VERSIONS.join(', ')}.`,
    )
  }
  const meta = message.params._meta
  if (!(isJsonObject(meta) && isJsonObject(meta[META.clientCapabilities]))) {
    return new SallyportError('INVALID_PARAMS', `"_meta" must have ${META.clientCapabilities}, an object.`)
  }
  return undefined
}

/** What a client needs to choose another version on its own: the versions with an envelope, as in `server/discover`. */
export function versionErrorData(problem: SallyportError, message: RequestMessage): JsonObject {
  if (problem.code !== 'VERSION_UNSUPPORTED') return {}
  return { supported: [MODERN_VERSION], requested: String(readVersion(message)).slice(0, 100) }
}

/** The problem of a modern request over HTTP; `undefined` if there is none. */
export function checkModernRequest(message: RequestMessage, headers: IncomingHttpHeaders): SallyportError | undefined {
  const headerVersion = headers['mcp-protocol-version']
  const version = readVersion(message)
  // If header and body have different versions, neither can be called the unsupported one.
  const isContradictory = headerVersion !== undefined && typeof version === 'string' && headerVersion !== version
  return (isContradictory ? undefined : checkEnvelope(message)) ?? checkHeaders(message, headers)
}

/** The headers repeat parts of the body for intermediaries; the two must match. */
export function checkHeaders(message: RequestMessage, headers: IncomingHttpHeaders): SallyportError | undefined {
  const member = NAME_PARAMS.get(message.method)
  return (
    compareHeader(headers, 'mcp-protocol-version', readVersion(message)) ??
    compareHeader(headers, 'mcp-method', message.method) ??
    (member === undefined ? undefined : compareHeader(headers, 'mcp-name', message.params[member]))
  )
}

function compareHeader(headers: IncomingHttpHeaders, header: string, value: unknown): SallyportError | undefined {
  const given = headers[header]
  if (given === undefined) return new SallyportError('HEADER_MISMATCH', `The header ${header} is missing.`)
  if (decodeHeaderValue(String(given)) === value) return undefined
  return new SallyportError('HEADER_MISMATCH', `The header ${header} does not match the body.`)
}
