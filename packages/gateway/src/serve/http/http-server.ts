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

/** What /readyz says: `lockdown` is what the operator wants, the other two are waited out. */
export type Readiness = 'ready' | 'lockdown' | 'starting' | 'audit-unavailable'

export interface Routes {
  readonly mcp: HttpMcp
  /** Asked anew for every request: a changed configuration brings another. */
  readonly authenticator: () => Authenticator
  readonly failures: CredentialFailures
  /** The admin plane; it judges the caller's role itself, since browsers come with a cookie. */
  readonly admin: (request: IncomingMessage, response: ServerResponse, bearer: Principal | undefined) => Promise<void>
  /** Who a caller is on a path that names a profile, or why it is not let in there. */
  readonly narrow: (principal: Principal, agent: string, variant: string) => Principal | SallyportError
  readonly watch: WatchCredential
  readonly readiness: () => Readiness
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

/** Slow or silent peers lose their connection; a call under way may take as long as it likes. */
const TIMEOUTS = {
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 120_000,
  connectionsCheckingInterval: 5_000,
}

/** The same for the connections that node does not see. */
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
  const judge = (visit: RoutedRequest, enter: RouteHandler): void => {
    const refused = guard?.(visit.request)
    if (refused) sendRefusal(visit.answer, refused)
    else runHandler(visit, enter)
  }
  const answers = new WeakMap<Duplex, ServerResponse>()
  const server = createServer({ ...TIMEOUTS, noDelay: true, requireHostHeader: false }, (request, response) => {
    answers.set(request.socket, response)
    const visit = { request, answer: new NodeResponseWriter(request, response), routes: options }
    judge(visit, () => routePath(visit, response))
  })
  refuseInvalidHttp(server, answers)
  const connections = new HttpConnections(server, CONNECTION_TIMEOUTS, (request, answer) =>
    judge({ request, answer, routes: options }, (visit) => routeMcp(request.url, visit)),
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

/** A bug is an answer, whether it shows at once or later: nobody above catches what is thrown here. */
function runHandler(visit: RoutedRequest, enter: RouteHandler): void {
  try {
    enter(visit)?.catch((error: unknown) => refuse(visit, error))
  } catch (error) {
    refuse(visit, error)
  }
}

/** Every path that the gateway answers on. */
function routePath(visit: RoutedRequest<IncomingMessage>, response: ServerResponse): Promise<void> | undefined {
  const { request, routes } = visit
  const path = pathOf(request)
  if (path === '/mcp' || path.startsWith('/mcp/')) return routeMcp(path, visit)
  if (path !== '/healthz' && path !== '/readyz') return routeAdmin(request, response, routes)
  if (path === '/healthz') sendText(response, 200, 'ok')
  else sendReadiness(response, routes.readiness())
  return undefined
}

function refuse({ request, answer, routes }: RoutedRequest, error: unknown): void {
  const refusal = toRefusal(error, (bug) => routes.onBug(bug, `${request.method} ${pathOf(request)}`))
  sendRefusal(answer, refusal)
}

/** A caller who was seen before is known at once; to wait for that too would cost every call a turn. */
function routeMcp(path: string, visit: RoutedRequest): Promise<void> | undefined {
  const asked = visit.routes.authenticator().authenticate(visit.request.headers.authorization)
  if (asked instanceof Promise) return asked.then((caller) => serveMcp(path, caller, visit))
  serveMcp(path, asked, visit)
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

/** A browser comes without a token: its cookie is judged by the admin plane itself. */
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

/** Who brings a wrong credential again and again waits for the answer. */
function withPenalty(caller: Refusal, { answer, routes }: PenaltyTarget, send: (refusal: RefusalReply) => void): void {
  const plain = { refused: caller.refused, headers: challengeHeaders(caller) }
  if (caller.credential !== 'wrong') return send(plain)
  void routes.failures.penalize(answer.address, 'token').then((refused) => {
    send(refused === undefined ? plain : { refused, headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } })
  })
}

const challengeHeaders = ({ challenge }: Refusal): Readonly<Record<string, string>> =>
  challenge === undefined ? {} : { 'www-authenticate': challenge }

/** `/mcp/<agent>.<variant>` narrows what the credential gives to a profile. */
function narrowToProfile(principal: Principal, path: string, { narrow }: Routes): Principal | SallyportError {
  if (path === '/mcp') return principal
  const match = /^\/mcp\/([a-z0-9-]{1,64})\.([A-Za-z0-9_-]{1,64})$/.exec(path)
  if (!match) return new SallyportError('ROUTE_UNKNOWN', 'The path must be /mcp or /mcp/<agent>.<variant>.')
  const [, agent = '', variant = ''] = match
  return narrow(principal, agent, variant)
}

export function pathOf(request: Pick<IncomingMessage, 'url'>): string {
  // A proxy may ask in absolute form; the guard has compared its authority with the Host already.
  const asked = request.url ?? '/'
  const url = asked.startsWith('/') ? asked : asked.replace(/^https?:\/\/[^/?#]*/i, '') || '/'
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

const sendReadiness = (response: ServerResponse, word: Readiness): void =>
  sendText(response, word === 'ready' || word === 'lockdown' ? 200 : 503, word)

function sendText(response: ServerResponse, status: number, word: string): void {
  response.writeHead(status, { 'content-type': 'text/plain', 'content-length': word.length }).end(word)
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

/** What is no HTTP at all gets a status that says why, and the connection ends. `answers` are the last of each connection. */
function refuseInvalidHttp(server: Server, answers: WeakMap<Duplex, ServerResponse>): void {
  const statuses: Readonly<Record<string, string>> = {
    HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
    ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const answer = answers.get(socket)
    // Within an answer that is under way ours would be taken for a part of it.
    const interrupts = answer?.headersSent && !answer.writableFinished
    // To a client that has asked for nothing yet it would be the answer to what it is about to ask.
    const isSilent = (socket as Socket).bytesRead === 0
    if (socket.writable && !interrupts && !isSilent)
      socket.write(rawResponse(statuses[error.code ?? ''] ?? '400 Bad Request'))
    ;(socket as Socket).destroySoon()
  })
  server.on('connect', (_request, socket) => socket.end(rawResponse('405 Method Not Allowed')))
  // There is no listener for `upgrade`: node then serves the request as if the offer had not been made (RFC 9110, 7.8).
}

const rawResponse = (status: string): string => `HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`

function closeServer(server: Server, connections: HttpConnections): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
    connections.closeIdle()
    // Calls under way have been answered or cancelled by now; what is left is idle streams.
    setTimeout(() => {
      server.closeAllConnections()
      connections.closeAll()
    }, 200).unref()
  })
}
