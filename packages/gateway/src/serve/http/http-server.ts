import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Principal, SallyportError } from '@sallyport/core'
import { createRequestGuard, type RequestGuard } from '@sallyport/kit/http-intake'
import {
  type Authentication,
  type Authenticator,
  type CredentialFailures,
  isRefusal,
  RETRY_AFTER_SECONDS,
  type Refusal,
} from '../../sessions/sessions.ts'
import { sendProblem } from '../problem.ts'
import { toRefusal } from '../rpc/to-refusal.ts'
import type { FastRequest } from './fast-request-parser.ts'
import { HttpConnections } from './http-connections.ts'
import { sendRefusal } from './http-exchange.ts'
import type { HttpMcp, WatchCredential } from './http-mcp.ts'
import { NodeResponseWriter } from './node-response-writer.ts'
import type { ResponseWriter } from './response-writer.ts'

/** The answer of /readyz. `lockdown` is set by the operator; `starting` and `audit-unavailable` are temporary. */
export type Readiness = 'ready' | 'lockdown' | 'starting' | 'audit-unavailable'

export interface Routes {
  readonly mcp: HttpMcp
  /** Called for every request, because a configuration change replaces the authenticator. */
  readonly authenticator: () => Authenticator
  readonly failures: CredentialFailures
  /** The admin plane. It checks the caller's role itself, because browsers send a cookie. */
  readonly admin: (request: IncomingMessage, response: ServerResponse, bearer: Principal | undefined) => Promise<void>
  /** The principal on a path that names a profile, or why the caller may not use that profile. */
  /** The caller in the session that it belongs to now, limited to a profile if its URL names one. */
  readonly narrow: (
    principal: Principal,
    profile?: { readonly agent: string; readonly variant: string },
  ) => Principal | SallyportError
  readonly watch: WatchCredential
  readonly readiness: () => Readiness
  /** The public keys of caller tokens, as JSON; `undefined` if no server gets such tokens. */
  readonly publishKeys: () => Promise<{ readonly jwks: string }> | undefined
  readonly onBug: (error: unknown, where: string) => string
}

export interface HttpServerOptions extends Routes {
  readonly host: string
  readonly port: number
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
}

export interface HttpListener {
  readonly url: string
  close(): Promise<void>
}

/** The public keys of caller tokens. */
const KEYS_PATH = '/.well-known/jwks.json'

/** Slow or silent clients are disconnected; a call in flight has no limit here. */
const TIMEOUTS = {
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 120_000,
  connectionsCheckingInterval: 5_000,
}

/** The same limits for connections that node:http does not serve. */
const CONNECTION_TIMEOUTS = {
  firstRequestMs: TIMEOUTS.headersTimeout,
  nextRequestMs: TIMEOUTS.keepAliveTimeout,
  checkIntervalMs: TIMEOUTS.connectionsCheckingInterval,
}

const HINTS = {
  host: 'add the exact Host value to gateway.allowed_hosts.',
  origin: 'add its exact origin to gateway.allowed_origins.',
}

export async function openHttpServer(options: HttpServerOptions): Promise<HttpListener> {
  let guard: RequestGuard | undefined
  const guarded = (visit: RoutedRequest, handler: RouteHandler): void => {
    const refused = guard?.(visit.request)
    if (refused) sendRefusal(visit.answer, refused)
    else runHandler(visit, handler)
  }
  const answers = new WeakMap<Duplex, ServerResponse>()
  const server = createServer({ ...TIMEOUTS, noDelay: true, requireHostHeader: false }, (request, response) => {
    answers.set(request.socket, response)
    const visit = { request, answer: new NodeResponseWriter(request, response), routes: options }
    guarded(visit, () => routePath(visit, response))
  })
  refuseInvalidHttp(server, answers)
  const connections = new HttpConnections(server, CONNECTION_TIMEOUTS, (request, answer) =>
    guarded({ request, answer, routes: options }, (visit) => routeMcp(request.url, visit)),
  )
  const { port } = await listen(server, options)
  const { host, allowedHosts, allowedOrigins } = options
  guard = createRequestGuard({ listening: [{ host, port }], allowedHosts, allowedOrigins, hints: HINTS })
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    close: () => closeServer(server, connections),
  }
}

interface RoutedRequest<Request extends IncomingMessage | FastRequest = IncomingMessage | FastRequest> {
  readonly request: Request
  readonly answer: ResponseWriter
  readonly routes: Routes
}

type RouteHandler = (visit: RoutedRequest) => Promise<void> | undefined

/** Answers bugs too, synchronous or not: no caller catches what is thrown here. */
function runHandler(visit: RoutedRequest, handler: RouteHandler): void {
  try {
    handler(visit)?.catch((error: unknown) => refuse(visit, error))
  } catch (error) {
    refuse(visit, error)
  }
}

/** Routes every path of the gateway. */
function routePath(visit: RoutedRequest<IncomingMessage>, response: ServerResponse): Promise<void> | undefined {
  const { request, routes } = visit
  const path = parsePath(request)
  if (path === '/mcp' || path.startsWith('/mcp/')) return routeMcp(path, visit)
  if (path === KEYS_PATH) return sendKeys(request, response, routes)
  if (path !== '/healthz' && path !== '/readyz') return routeAdmin(request, response, routes)
  if (path === '/healthz') sendText(response, 200, 'ok')
  else sendReadiness(response, routes.readiness())
  return undefined
}

function refuse({ request, answer, routes }: RoutedRequest, error: unknown): void {
  const refusal = toRefusal(error, (bug) => routes.onBug(bug, `${request.method} ${parsePath(request)}`))
  sendRefusal(answer, refusal)
}

/** A cached caller is known synchronously; awaiting it would delay every call by a microtask. */
function routeMcp(path: string, visit: RoutedRequest): Promise<void> | undefined {
  const authentication = visit.routes.authenticator().authenticate(visit.request.headers.authorization)
  if (authentication instanceof Promise) return authentication.then((caller) => serveMcp(path, caller, visit))
  serveMcp(path, authentication, visit)
  return undefined
}

function serveMcp(path: string, caller: Authentication, visit: RoutedRequest): void {
  const { request, answer, routes } = visit
  if (isRefusal(caller))
    return withPenalty(caller, visit, ({ refused, headers }) => sendRefusal(answer, refused, { headers }))
  const principal = narrowToProfile(caller, path, routes)
  if (principal instanceof SallyportError) sendRefusal(answer, principal)
  else routes.mcp.handle({ request, answer, principal, watch: routes.watch })
}

async function routeAdmin(request: IncomingMessage, response: ServerResponse, routes: Routes): Promise<void> {
  const caller = await authenticateBearer(request, routes)
  if (caller && isRefusal(caller)) {
    const answer = { address: request.socket.remoteAddress }
    return withPenalty(caller, { answer, routes }, ({ refused, headers }) => sendProblem(response, refused, headers))
  }
  await routes.admin(request, response, caller)
}

/** A browser sends no token: the admin plane checks its cookie. */
async function authenticateBearer(
  { headers }: IncomingMessage,
  { authenticator }: Routes,
): Promise<Authentication | undefined> {
  return headers.authorization === undefined ? undefined : authenticator().authenticate(headers.authorization)
}

interface RefusalReply {
  readonly refused: SallyportError
  readonly headers: Readonly<Record<string, string>>
}

interface PenaltyTarget {
  readonly answer: Pick<ResponseWriter, 'address'>
  readonly routes: Pick<Routes, 'failures'>
}

/** Delays the answer for a source that repeatedly sends wrong credentials. */
function withPenalty(caller: Refusal, { answer, routes }: PenaltyTarget, send: (refusal: RefusalReply) => void): void {
  const plain = { refused: caller.refused, headers: challengeHeaders(caller) }
  if (caller.credential !== 'wrong') return send(plain)
  void routes.failures.penalize(answer.address, 'token').then((refused) => {
    send(refused === undefined ? plain : { refused, headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } })
  })
}

const challengeHeaders = ({ challenge }: Refusal): Readonly<Record<string, string>> =>
  challenge === undefined ? {} : { 'www-authenticate': challenge }

/** `/mcp/<agent>.<variant>` narrows the principal to a profile. */
function narrowToProfile(principal: Principal, path: string, { narrow }: Routes): Principal | SallyportError {
  if (path === '/mcp') return narrow(principal)
  const match = /^\/mcp\/([a-z0-9-]{1,64})\.([A-Za-z0-9_-]{1,64})$/.exec(path)
  if (!match) return new SallyportError('ROUTE_UNKNOWN', 'The path must be /mcp or /mcp/<agent>.<variant>.')
  const [, agent = '', variant = ''] = match
  return narrow(principal, { agent, variant })
}

export function parsePath(request: Pick<IncomingMessage, 'url'>): string {
  // A proxy may send the URL in absolute form; the guard has already compared its authority with Host.
  const target = request.url ?? '/'
  const url = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '') || '/'
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

/** Answers without a token: there is nothing secret in it, and servers that verify caller tokens have none. */
async function sendKeys(request: IncomingMessage, response: ServerResponse, routes: Routes): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return sendProblem(response, new SallyportError('VERB_REFUSED', `Only GET is allowed on ${KEYS_PATH}.`), {
      allow: 'GET, HEAD',
    })
  const published = routes.publishKeys()
  if (published === undefined)
    return sendProblem(
      response,
      new SallyportError('ROUTE_UNKNOWN', 'No server gets caller tokens, so there are no keys.', {
        hint: 'A server gets them if its entry has `identity: forward`.',
      }),
    )
  const jwks = await published.then(
    (keys) => keys.jwks,
    () => undefined,
  )
  // The error names a path, and anybody may ask.
  if (jwks === undefined)
    return sendProblem(
      response,
      new SallyportError('KEYS_UNUSABLE', 'The keys of caller tokens cannot be used.', {
        hint: 'The operator finds the reason with `sallyport servers <name>` for a server with `identity: forward`.',
      }),
    )
  const headers = { 'content-type': 'application/jwk-set+json', 'cache-control': 'public, max-age=300' }
  response.writeHead(200, { ...headers, 'content-length': Buffer.byteLength(jwks) }).end(jwks)
}

const sendReadiness = (response: ServerResponse, readiness: Readiness): void =>
  sendText(response, readiness === 'ready' || readiness === 'lockdown' ? 200 : 503, readiness)

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain', 'content-length': text.length }).end(text)
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenFailure(error, host, port)))
    server.listen({ host, port, backlog: 1_024 }, () => {
      server.removeAllListeners('error')
      server.on('error', () => {})
      resolve(server.address() as AddressInfo)
    })
  })
}

function listenFailure(error: NodeJS.ErrnoException, host: string, port: number): SallyportError {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'another program listens there already',
    EACCES: 'this user may not listen there',
    EADDRNOTAVAIL: 'this machine has no such address',
  }
  const reason = reasons[error.code ?? ''] ?? error.message
  return new SallyportError('PORT_UNAVAILABLE', `Cannot listen on ${host}:${port}: ${reason}.`, {
    hint: 'Choose another with --port (0 takes any free one), or stop the other program.',
    cause: error,
  })
}

/** Answers invalid HTTP with a status and closes the connection. `answers` has the last response of each connection. */
function refuseInvalidHttp(server: Server, answers: WeakMap<Duplex, ServerResponse>): void {
  const statuses: Readonly<Record<string, string>> = {
    HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
    ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answer = answers.get(socket)
    // In the middle of another answer, this one would be read as a part of it.
    const interrupts = answer?.headersSent && !answer.writableFinished
    // A client that has sent nothing yet would take it for the answer to its first request.
    const isSilent = (socket as Socket).bytesRead === 0
    if (socket.writable && !interrupts && !isSilent)
      socket.write(rawResponse(statuses[error.code ?? ''] ?? '400 Bad Request'))
    ;(socket as Socket).destroySoon()
  })
  server.on('connect', (_request, socket) => socket.end(rawResponse('405 Method Not Allowed')))
  // Without a listener for `upgrade`, node ignores the header and serves the request (RFC 9110, 7.8).
}

const rawResponse = (status: string): string => `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`

function closeServer(server: Server, connections: HttpConnections): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
    connections.closeIdle()
    // All calls have been answered or cancelled by now; only idle streams are left.
    setTimeout(() => {
      server.closeAllConnections()
      connections.closeAll()
    }, 200).unref()
  })
}
