import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import {
  formatParam,
  isJsonObject,
  type JsonObject,
  LEGACY_VERSIONS,
  type McpParam,
  META,
  MODERN_VERSION,
  matchesParam,
  quoteText,
  SallyportError,
} from '@sallyport/core'
import { ParkedCalls, type RunningCall } from '../call/call.ts'
import { readRequestMeta } from '../era.ts'
import type { Identity } from '../identity/identity.ts'
import {
  errorAnswer,
  HEADER_MISMATCH,
  INVALID_PARAMS,
  INVALID_REQUEST,
  type Incoming,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  type RpcError,
  readMessage,
  UNSUPPORTED_PROTOCOL_VERSION,
} from '../json-rpc.ts'
import type { McpServer } from '../mcp-server.ts'
import { BodyBudget } from './body-budget.ts'
import { decodeHeaderValue } from './header-value.ts'
import { sendRefusal } from './http-refusal.ts'
import { LegacySession, type SessionOwner } from './legacy-session.ts'
import { PostExchange } from './post-exchange.ts'
import { readRequestMessage } from './request-body.ts'

export interface EndpointOptions extends LegacySessionsOptions {
  readonly maxBodyBytes: number
  /** For the modern era, which has no sessions to count requests by. */
  readonly maxRequestsPerUser: number
}

/** The maximum size of all bodies of one caller that are being received, unless a single body may be larger. */
const MIN_BYTES_PER_OWNER = 32 * 1_024 * 1_024

/** A request whose sender is known: a user, or a gateway. */
interface AuthenticatedRequest extends SessionOwner {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** When its credential expires; `undefined` if it does not. */
  readonly expiresAt: number | undefined
}

/** MCP over HTTP: both eras at one address. Each message shows its era. */
export class McpHttpEndpoint {
  readonly #server: McpServer
  readonly #options: EndpointOptions
  readonly #sessions: LegacySessions
  readonly #parked = new ParkedCalls<RunningCall>()
  readonly #bodyBudget: BodyBudget
  /** The functions that end the modern requests in flight, by user. */
  readonly #inFlight = new Map<string, Set<() => void>>()

  constructor(server: McpServer, options: EndpointOptions) {
    this.#server = server
    this.#options = options
    this.#sessions = new LegacySessions(server, options)
    const maxBytesPerOwner = (): number => Math.max(MIN_BYTES_PER_OWNER, options.maxBodyBytes)
    this.#bodyBudget = new BodyBudget({ maxBytesPerOwner, maxTotalBytes: () => 4 * maxBytesPerOwner() })
  }

  /** Throws an error for a request that is refused. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const caller = await this.#server.authenticate(request.headers)
    if (!('identity' in caller)) {
      const headers =
        'wwwAuthenticate' in caller
          ? { 'www-authenticate': caller.wwwAuthenticate }
          : { 'retry-after': String(caller.retryAfterSeconds) }
      return sendRefusal(response, { status: caller.status, error: { code: -32000, message: caller.problem }, headers })
    }
    const { identity, expiresAt, takesCallers = false } = caller
    const visit = { request, response, identity, expiresAt, takesCallers }
    if (request.method === 'POST') return this.#post(visit)
    if (request.method === 'GET') return this.#listen(visit)
    if (request.method === 'DELETE') return this.#endSession(visit)
    throw methodNotAllowed()
  }

  close(): void {
    this.#sessions.close()
    for (const ends of [...this.#inFlight.values()]) for (const end of [...ends]) end()
    this.#parked.close()
  }

  async #post(visit: AuthenticatedRequest): Promise<void> {
    const { request, response } = visit
    if (!accepts(request, 'application/json') && !accepts(request, 'text/event-stream'))
      throw new SallyportError(
        'ACCEPT_REFUSED',
        'The answer is application/json or text/event-stream: the Accept header must allow both.',
      )
    const limit = this.#options.maxBodyBytes
    const raw = await readRequestMessage(request, { limit, budget: this.#bodyBudget, owner: nameOf(visit.identity) })
    const message = readMessage(raw)
    if (message.kind === 'bad') return sendRefusal(response, { status: 400, error: message.error, id: message.id })
    if (message.kind !== 'response' && isModern(message, request.headers)) return this.#postModern(visit, message, raw)
    assertLegacyVersion(request)
    const isOpening = message.kind === 'request' && message.method === 'initialize'
    const session = isOpening ? this.#openSession(visit, message) : this.#findSession(visit)
    const acceptsStream = accepts(request, 'text/event-stream')
    session.post({ response, message, raw, acceptsStream, caller: visit.identity })
  }

  #openSession(visit: AuthenticatedRequest, { params }: Incoming<'request'>): LegacySession {
    if (typeof params.protocolVersion !== 'string')
      throw new SallyportError('INVALID_PARAMS', 'params.protocolVersion is missing or not a string.')
    return this.#sessions.open(visit)
  }

  async #postModern(
    visit: AuthenticatedRequest,
    message: Incoming<'request'> | Incoming<'notification'>,
    raw: unknown,
  ): Promise<void> {
    const { request, response, identity, takesCallers } = visit
    const problem =
      findHeaderProblem(message, request.headers) ??
      findParamHeaderProblem(message, this.#listHeaderParams(message), request)
    if (problem !== undefined)
      return sendRefusal(response, { status: 400, error: problem, id: message.kind === 'request' ? message.id : null })
    if (message.kind === 'notification') {
      response.writeHead(202, { 'content-length': 0 }).end()
      return
    }
    const acceptsStream = accepts(request, 'text/event-stream')
    if (message.method === 'subscriptions/listen' && !acceptsStream) throw streamNotAccepted()
    const user = takesCallers ? await this.#server.findForwardedUser(message.params) : undefined
    if (response.destroyed) return
    const owner = user ?? nameOf(identity)
    const inFlight = this.#inFlightOf(owner)
    const exchange = new PostExchange(response, { acceptsStream, toHttpStatus: modernHttpStatus })
    const connection = this.#server.connect(
      (outgoing) => ('method' in outgoing ? exchange.notify(outgoing) : exchange.answer(outgoing)),
      { ...(identity && { identity }), takesCallers, parked: this.#parked },
    )
    const end = (): void => connection.close()
    inFlight.add(end)
    this.#inFlight.set(owner, inFlight)
    // In the modern era a client cancels by closing the stream.
    response.once('close', () => {
      inFlight.delete(end)
      if (inFlight.size === 0) this.#inFlight.delete(owner)
      end()
    })
    if (message.method === 'subscriptions/listen') endAtExpiry(visit)
    connection.receive(raw)
  }

  /** Throws if there are too many: one connection can pipeline any number of them. */
  #inFlightOf(owner: string): Set<() => void> {
    const inFlight = this.#inFlight.get(owner) ?? new Set()
    const { maxRequestsPerUser: limit } = this.#options
    if (inFlight.size < limit) return inFlight
    throw new SallyportError('OVERLOADED', `${limit} requests of this user are in flight, which is the limit.`, {
      hint: 'Wait until some of them are answered, or end streams that nobody reads.',
    })
  }

  #listHeaderParams({ method, params }: Incoming<'request'> | Incoming<'notification'>) {
    return method === 'tools/call' ? this.#server.headerParams(String(params.name)) : []
  }

  #listen(visit: AuthenticatedRequest): void {
    const session = this.#findSession(visit)
    if (!accepts(visit.request, 'text/event-stream')) throw streamNotAccepted()
    endAtExpiry(visit)
    session.listen(visit.response)
  }

  #endSession(visit: AuthenticatedRequest): void {
    this.#sessions.end(this.#findSession(visit))
    visit.response.writeHead(204).end()
  }

  #findSession({ request, identity }: AuthenticatedRequest): LegacySession {
    const { 'mcp-session-id': id, 'mcp-protocol-version': version } = request.headers
    // The modern era has neither sessions nor the HTTP methods for them.
    if (request.method !== 'POST' && (id === undefined || version === MODERN_VERSION)) throw methodNotAllowed()
    assertLegacyVersion(request)
    if (typeof id !== 'string')
      throw new SallyportError('SESSION_REQUIRED', 'The header Mcp-Session-Id is missing.', {
        hint: `Send initialize first, or the _meta envelope of ${MODERN_VERSION}.`,
      })
    return this.#sessions.find(id, identity)
  }
}

/** The gateway has no name of its own: no user is called like this. */
const nameOf = (identity: Identity | undefined): string => identity?.userId ?? ''

function accepts({ headers: { accept } }: IncomingMessage, type: 'application/json' | 'text/event-stream'): boolean {
  if (accept === undefined) return true
  const [family] = type.split('/')
  const offered = accept.split(',').map((range) => range.split(';')[0]?.trim().toLowerCase())
  return [type, `${family}/*`, '*/*'].some((range) => offered.includes(range))
}

function assertLegacyVersion({ headers }: IncomingMessage): void {
  const version = headers['mcp-protocol-version']
  if (version === undefined || LEGACY_VERSIONS.includes(String(version))) return
  throw new SallyportError('INVALID_REQUEST', `The header MCP-Protocol-Version is ${quoteText(String(version), 40)}.`, {
    hint: `Known are ${[MODERN_VERSION, ...LEGACY_VERSIONS].join(', ')}.`,
  })
}

const BAD_REQUEST_CODES: readonly unknown[] = [
  INVALID_REQUEST,
  HEADER_MISMATCH,
  MISSING_CAPABILITY,
  UNSUPPORTED_PROTOCOL_VERSION,
]

function modernHttpStatus(code: unknown): number {
  if (code === METHOD_NOT_FOUND) return 404
  return BAD_REQUEST_CODES.includes(code) ? 400 : 200
}

/** The longest delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Each request is authenticated. A stream is authenticated once, so it ends when its token expires. */
function endAtExpiry({ response, expiresAt }: AuthenticatedRequest): void {
  if (expiresAt === undefined) return
  const left = Math.min(Math.max(expiresAt - Date.now(), 0), MAX_TIMER_MS)
  const timer = setTimeout(() => response.end(), left).unref()
  response.once('close', () => clearTimeout(timer))
}

const streamNotAccepted = (): SallyportError =>
  new SallyportError('ACCEPT_REFUSED', 'The stream is text/event-stream: the Accept header must allow it.')

const methodNotAllowed = (): SallyportError =>
  new SallyportError('VERB_REFUSED', 'This address accepts POST, and with a session also GET and DELETE.')

type Message = Incoming<'request'> | Incoming<'notification'>

/** The member of the params that the header Mcp-Name repeats. */
const MCP_NAME_PARAMS: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

const readVersion = ({ _meta: meta }: JsonObject): unknown =>
  isJsonObject(meta) ? meta[META.protocolVersion] : undefined

/** A message of the modern era contains its version. */
function isModern({ params }: Message, headers: IncomingHttpHeaders): boolean {
  return readVersion(params) !== undefined || headers['mcp-protocol-version'] === MODERN_VERSION
}

/** Finds a problem in the envelope of a modern message, or in the headers that repeat it for intermediaries. */
function findHeaderProblem(message: Message, headers: IncomingHttpHeaders): RpcError | undefined {
  const { method, params } = message
  const headerVersion = headers['mcp-protocol-version']
  const version = readVersion(params)
  // If two versions contradict each other, neither of them can be reported as the unsupported one.
  if (headerVersion !== undefined && typeof version === 'string' && headerVersion !== version)
    return headerMismatch('mcp-protocol-version')
  if (version === undefined) return errorAnswer(INVALID_PARAMS, `_meta["${META.protocolVersion}"] is missing.`).error
  const meta = message.kind === 'request' ? readRequestMeta(params) : undefined
  if (meta !== undefined && 'error' in meta) return meta.error
  const member = MCP_NAME_PARAMS.get(method)
  return (
    compareHeader(headers, 'mcp-protocol-version', version) ??
    compareHeader(headers, 'mcp-method', method) ??
    (member === undefined ? undefined : compareHeader(headers, 'mcp-name', params[member]))
  )
}

/** Headers must repeat exactly the arguments that a schema names. Errors contain neither value, which may be a secret. */
function findParamHeaderProblem(
  { params }: Message,
  repeated: readonly McpParam[],
  { headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>,
): RpcError | undefined {
  const args = isJsonObject(params.arguments) ? params.arguments : {}
  for (const param of repeated) {
    const given = headersDistinct[param.header] ?? []
    if (given.length === 0 && formatParam(param, args) === undefined) continue
    const text = given.length === 1 ? decodeHeaderValue(given[0] ?? '') : undefined
    if (text === undefined || !matchesParam(param, args, text)) return headerMismatch(param.header)
  }
  return undefined
}

function compareHeader(headers: IncomingHttpHeaders, header: string, value: unknown): RpcError | undefined {
  const given = headers[header]
  return given !== undefined && decodeHeaderValue(String(given)) === value ? undefined : headerMismatch(header)
}

const headerMismatch = (header: string): RpcError =>
  errorAnswer(HEADER_MISMATCH, `The header ${header} is missing or does not match the body.`).error

interface LegacySessionsOptions {
  readonly idleTimeoutMs: number
  readonly maxSessions: number
  readonly maxSessionsPerUser: number
  readonly now: () => number
}

/** The open sessions of the legacy era. Abandoned ones are ended for new ones. */
class LegacySessions {
  readonly #server: McpServer
  readonly #options: LegacySessionsOptions
  readonly #sessions = new Map<string, LegacySession>()
  readonly #sweeper: NodeJS.Timeout

  constructor(server: McpServer, options: LegacySessionsOptions) {
    this.#server = server
    this.#options = options
    this.#sweeper = setInterval(() => this.#endIdle(), Math.min(options.idleTimeoutMs, 60_000)).unref()
  }

  /** Throws if there are too many. */
  open(owner: SessionOwner): LegacySession {
    this.#endIdle()
    const { maxSessions, maxSessionsPerUser, now } = this.#options
    this.#makeRoom(maxSessionsPerUser, (session) => nameOf(session.owner) === nameOf(owner.identity))
    this.#makeRoom(maxSessions, () => true)
    const session = new LegacySession(this.#server, owner, now())
    this.#sessions.set(session.id, session)
    return session
  }

  /** The session, if this caller may use it: knowing its id is not enough. */
  find(id: string, caller: Identity | undefined): LegacySession {
    const session = this.#sessions.get(id)
    if (session === undefined || !isSameCaller(session.owner, caller))
      throw new SallyportError('SESSION_UNKNOWN', 'This session does not exist or has ended.', {
        hint: 'Send initialize again.',
      })
    session.lastSeenAt = this.#options.now()
    return session
  }

  end(session: LegacySession): void {
    if (this.#sessions.delete(session.id)) session.end()
  }

  close(): void {
    clearInterval(this.#sweeper)
    for (const session of [...this.#sessions.values()]) this.end(session)
  }

  #endIdle(): void {
    const before = this.#options.now() - this.#options.idleTimeoutMs
    for (const session of [...this.#sessions.values()])
      if (session.isAbandoned && session.lastSeenAt <= before) this.end(session)
  }

  /** Ends the least recently used idle session of the user with the most: opening many evicts only one's own. */
  #makeRoom(limit: number, counts: (session: LegacySession) => boolean): void {
    const sessions = [...this.#sessions.values()].filter(counts)
    if (sessions.length < limit) return
    const oldest = findSessionToEvict(sessions.filter(({ isIdle }) => isIdle))
    if (oldest === undefined)
      throw new SallyportError('OVERLOADED', `${limit} sessions are open and in use, which is the limit.`, {
        hint: 'End one with DELETE first.',
      })
    this.end(oldest)
  }
}

function findSessionToEvict(sessions: readonly LegacySession[]): LegacySession | undefined {
  const counts = new Map<string, number>()
  for (const { owner } of sessions) counts.set(nameOf(owner), (counts.get(nameOf(owner)) ?? 0) + 1)
  const size = ({ owner }: LegacySession): number => counts.get(nameOf(owner)) ?? 0
  return [...sessions].sort((a, b) => size(b) - size(a) || a.lastSeenAt - b.lastSeenAt)[0]
}

const isSameCaller = (a: Identity | undefined, b: Identity | undefined): boolean =>
  a?.userId === b?.userId && a?.sessionId === b?.sessionId
