import { formatDuration, MAY_BE_DONE, messageOf, SallyportError } from '@sallyport/core'

/** What became of an operation besides the error itself. */
export interface Circumstances {
  /** The server, as it is told to people. */
  readonly peer: string
  readonly redact: (text: string) => string
  /** The connection ended and does not come back. */
  readonly isGone: boolean
}

/** The code of the answer that a link gives in place of one that was lost with its stream. */
export const ANSWER_LOST = -32_097

/** Nothing was sent: the connection lets no more requests out. */
export class TurnedAway extends Error {
  override readonly name = 'TurnedAway'
}

export const isTurnedAway = (error: unknown): boolean => ownError(error) instanceof TurnedAway

/** The SDK wraps what a transport throws: ours is looked for among the causes. */
function ownError(error: unknown): Error | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof SallyportError || at instanceof TurnedAway) return at
  }
  return undefined
}

export function timedOut(peer: string, timeoutMs: number): SallyportError {
  return new SallyportError(
    'UPSTREAM_TIMEOUT',
    `${peer} gave no answer in ${formatDuration(timeoutMs)}; the request was cancelled.`,
    { hint: `${MAY_BE_DONE} Raise read_timeout, or ask for less.` },
  )
}

/** What the SDK threw, as an error with a code. Neither its text nor its data can hold our token afterwards. */
export function describeLinkError(error: unknown, circumstances: Circumstances): Error {
  const own = ownError(error)
  if (own !== undefined) return own
  const { peer, redact, isGone } = circumstances
  const details = isErrorLike(error) ? error : {}
  // A number for a code is the server's own error, and so is its data.
  const status = typeof details.code === 'number' ? undefined : details.data?.status
  if (typeof status === 'number') return httpError(status, redact(messageOf(error)), peer)
  const said = redact(messageOf(error)).slice(0, MAX_SAID)
  if (details.code === 'REQUEST_TIMEOUT')
    return new SallyportError('UPSTREAM_TIMEOUT', `${peer}: ${said}`, { hint: MAY_BE_DONE })
  if (isGone || LOST.has(details.code)) return connectionLost(peer, said)
  if (BROKEN.test(String(causeOf(error)?.code))) return connectionLost(peer, reasonOf(error, said, redact))
  if (typeof details.code === 'number') return protocolError(details.code, said, peer)
  if (NOT_OFFERED.has(details.code)) return new SallyportError('METHOD_UNKNOWN', `${peer} does not offer this: ${said}`)
  if (BAD_ANSWER.has(details.code))
    return new SallyportError('UPSTREAM_PROTOCOL', `${peer} answered what cannot be understood: ${said}`)
  return new SallyportError('UPSTREAM_UNAVAILABLE', `${peer} cannot be reached: ${reasonOf(error, said, redact)}`, {
    hint: 'Check the address or the command, and that the server runs.',
  })
}

const MAX_SAID = 2_000
const LOST: ReadonlySet<unknown> = new Set(['CONNECTION_CLOSED', 'NOT_CONNECTED', 'SEND_FAILED', ANSWER_LOST])
/** How a connection ends that was made: what was sent over it may have arrived. */
const BROKEN = /^(?:ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|HPE_\w+|UND_ERR_(?:SOCKET|HEADERS_TIMEOUT|BODY_TIMEOUT))$/
const NOT_OFFERED: ReadonlySet<unknown> = new Set([
  'CAPABILITY_NOT_SUPPORTED',
  'METHOD_NOT_SUPPORTED_BY_PROTOCOL_VERSION',
])
const BAD_ANSWER: ReadonlySet<unknown> = new Set([
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

function connectionLost(peer: string, said: string): SallyportError {
  return new SallyportError('UPSTREAM_DIED', `The connection to ${peer} is lost: ${said}`, {
    hint: `${MAY_BE_DONE} Where the server is a process, open a new client.`,
  })
}

function httpError(status: number, said: string, peer: string): SallyportError {
  const message = `${peer} answered with status ${status}: ${said.slice(0, MAX_SAID)}`
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

function protocolError(code: number, said: string, peer: string): SallyportError {
  if (code === INVALID_PARAMS) return new SallyportError('INVALID_PARAMS', said)
  if (code === METHOD_NOT_FOUND) return new SallyportError('METHOD_UNKNOWN', `${peer} does not offer this: ${said}`)
  return new SallyportError('UPSTREAM_FAILED', `${peer} refused the request (${code}): ${said}`)
}

/** `fetch failed` says nothing; its cause does. */
function reasonOf(error: unknown, said: string, redact: (text: string) => string): string {
  const cause = causeOf(error)
  const code = typeof cause?.code === 'string' ? ` (${cause.code})` : ''
  return cause === undefined ? said : `${redact(cause.message) || said}${code}`
}

function causeOf(error: unknown): (Error & { readonly code?: unknown }) | undefined {
  return error instanceof Error && error.cause instanceof Error ? error.cause : undefined
}
