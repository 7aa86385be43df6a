import { formatDuration, MAY_HAVE_RUN_HINT, messageOf, SallyportError } from '@sallyport/core'

/** The circumstances of a failed operation. */
export interface LinkErrorContext {
  /** The name of the server in messages. */
  readonly peer: string
  readonly redact: (text: string) => string
  /** The connection ended for good. */
  readonly isGone: boolean
}

/** The error code that a link answers with if the real answer was lost with its stream. */
export const ANSWER_LOST = -32_097

/** Nothing was sent: the connection refuses new requests. */
export class SendRefusedError extends Error {
  override readonly name = 'TurnedAway'
}

export const isSendRefused = (error: unknown): boolean => findOwnError(error) instanceof SendRefusedError

/** The SDK wraps errors of a transport, so ours is searched for in the chain of causes. */
function findOwnError(error: unknown): Error | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof SallyportError || at instanceof SendRefusedError) return at
  }
  return undefined
}

export function timeoutError(peer: string, timeoutMs: number): SallyportError {
  return new SallyportError(
    'UPSTREAM_TIMEOUT',
    `${peer} did not answer within ${formatDuration(timeoutMs)}; the request was cancelled.`,
    { hint: `${MAY_HAVE_RUN_HINT} Raise read_timeout, or ask for less.` },
  )
}

/** Converts an error of the SDK to one with a code. Our token is removed from its message and its data. */
export function toLinkError(error: unknown, circumstances: LinkErrorContext): Error {
  const own = findOwnError(error)
  if (own !== undefined) return own
  const { peer, redact, isGone } = circumstances
  const details = isErrorLike(error) ? error : {}
  // A numeric code means an error of the server, with the server's data.
  const status = typeof details.code === 'number' ? undefined : details.data?.status
  if (typeof status === 'number') return httpError(status, redact(messageOf(error)), peer)
  const text = redact(messageOf(error)).slice(0, MAX_MESSAGE_LENGTH)
  if (details.code === 'REQUEST_TIMEOUT')
    return new SallyportError('UPSTREAM_TIMEOUT', `${peer}: ${text}`, { hint: MAY_HAVE_RUN_HINT })
  if (isGone || LOST_CODES.has(details.code)) return connectionLostError(peer, text)
  if (BROKEN_CONNECTION.test(String(causeOf(error)?.code)))
    return connectionLostError(peer, findReason(error, text, redact))
  if (typeof details.code === 'number') return protocolError(details.code, text, peer)
  if (UNSUPPORTED_CODES.has(details.code))
    return new SallyportError('METHOD_UNKNOWN', `${peer} does not offer this: ${text}`)
  if (INVALID_RESPONSE_CODES.has(details.code))
    return new SallyportError('UPSTREAM_PROTOCOL', `${peer} sent an answer that is not valid: ${text}`)
  return new SallyportError('UPSTREAM_UNAVAILABLE', `${peer} cannot be reached: ${findReason(error, text, redact)}`, {
    hint: 'Check the address or the command, and that the server runs.',
  })
}

const MAX_MESSAGE_LENGTH = 2_000
const LOST_CODES: ReadonlySet<unknown> = new Set(['CONNECTION_CLOSED', 'NOT_CONNECTED', 'SEND_FAILED', ANSWER_LOST])
/** The codes for a connection that was open and then ended: a request sent over it may have arrived. */
const BROKEN_CONNECTION =
  /^(?:ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|HPE_\w+|UND_ERR_(?:SOCKET|HEADERS_TIMEOUT|BODY_TIMEOUT))$/
const UNSUPPORTED_CODES: ReadonlySet<unknown> = new Set([
  'CAPABILITY_NOT_SUPPORTED',
  'METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION',
])
const INVALID_RESPONSE_CODES: ReadonlySet<unknown> = new Set([
  'INVALID_RESULT',
  'UNSUPPORTED_RESULT_TYPE',
  'LIST_PAGINATION_EXCEEDED',
  'INPUT_REQUIRED_ROUNDS_EXCEEDED',
  'CLIENT_HTTP_UNEXPECTED_CONTENT',
])

interface ErrorLike {
  readonly code?: unknown
  readonly data?: { readonly status?: unknown } | undefined
}

const isErrorLike = (error: unknown): error is ErrorLike => typeof error === 'object' && error !== null

function connectionLostError(peer: string, text: string): SallyportError {
  return new SallyportError('UPSTREAM_DIED', `The connection to ${peer} was lost: ${text}`, {
    hint: `${MAY_HAVE_RUN_HINT} If the server is a process, open a new client.`,
  })
}

function httpError(status: number, text: string, peer: string): SallyportError {
  const message = `${peer} answered with status ${status}: ${text.slice(0, MAX_MESSAGE_LENGTH)}`
  if (status === 401)
    return new SallyportError('UNAUTHENTICATED', `${peer} refused our credentials (status 401).`, {
      hint: 'Give a bearerToken that is valid there.',
    })
  if (status === 403) return new SallyportError('FORBIDDEN', message)
  if (status === 404)
    return new SallyportError('UPSTREAM_GONE', message, {
      hint: 'The session has ended there, or the address is wrong. Open a new client.',
    })
  if (status === 429 || status === 503) return new SallyportError('UPSTREAM_UNAVAILABLE', message)
  return new SallyportError(status >= 500 ? 'UPSTREAM_FAILED' : 'UPSTREAM_PROTOCOL', message)
}

const INVALID_PARAMS = -32_602
const METHOD_NOT_FOUND = -32_601

function protocolError(code: number, text: string, peer: string): SallyportError {
  if (code === INVALID_PARAMS) return new SallyportError('INVALID_PARAMS', text)
  if (code === METHOD_NOT_FOUND) return new SallyportError('METHOD_UNKNOWN', `${peer} does not offer this: ${text}`)
  return new SallyportError('UPSTREAM_FAILED', `${peer} refused the request (${code}): ${text}`)
}

/** `fetch failed` is not helpful, but its cause is. */
function findReason(error: unknown, text: string, redact: (text: string) => string): string {
  const cause = causeOf(error)
  const code = typeof cause?.code === 'string' ? ` (${cause.code})` : ''
  return cause === undefined ? text : `${redact(cause.message) || text}${code}`
}

function causeOf(error: unknown): (Error & { readonly code?: unknown }) | undefined {
  return error instanceof Error && error.cause instanceof Error ? error.cause : undefined
}
