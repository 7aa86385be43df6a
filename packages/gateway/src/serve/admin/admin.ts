import { closeSync, openSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { devNull } from 'node:os'
import { hasRole, type Principal, SallyportError } from '@sallyport/core'
import { type BodyBudget, RETRY_AFTER_HEADERS, readBody } from '@sallyport/kit/http-intake'
import type { ModeState } from '../../governance/governance.ts'
import {
  type CredentialKind,
  clearedCookie,
  type Logins,
  RETRY_AFTER_SECONDS,
  readBearerToken,
  sessionCookie,
} from '../../sessions/sessions.ts'
import { parsePath, type Routes } from '../http/http-server.ts'
import { sendProblem } from '../problem.ts'
import { type AdminContext, type ApprovalContext, modeView, OPERATOR_INTERFACES } from './admin-context.ts'
import { sendLoginPage } from './login-page.ts'
import { sendUiFile } from './ui-files.ts'

interface AdminRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
}

type ApiListener = (request: IncomingMessage, response: ServerResponse, principal: Principal) => Promise<void>

const METRICS_PATH = '/metrics'

type LoadApi = (context: AdminContext) => Promise<ApiListener>

/** File descriptors that loading the API needs at the same time. */
const API_FILE_COUNT = 128

const loadApiListener: LoadApi = async (context) => {
  // Node caches a failed module load forever, so check before importing.
  requireFreeDescriptors(API_FILE_COUNT)
  const { createApiListener } = await import('../api/api-listener.ts')
  return createApiListener(context)
}

/** The admin plane: the web UI and the API, for the operator and nobody else. */
export function createAdmin(context: AdminContext, load: LoadApi = loadApiListener): Routes['admin'] {
  let api: Promise<ApiListener> | undefined
  // Loading Hono and the schemas takes longer than the whole start may: the first request pays for it.
  const loadApi = (): Promise<ApiListener> => {
    api ??= load(context).catch((error: unknown) => {
      // A load that failed once may succeed on the next request.
      api = undefined
      throw error
    })
    return api
  }
  return async (request, response, bearer) => {
    setAdminHeaders(response)
    const visit = { request, response, path: parsePath(request) }
    try {
      await routeAdminRequest(visit, { context, bearer, loadApi })
    } catch (error) {
      if (!(error instanceof SallyportError)) throw error
      sendProblem(response, error, error.kind.http === 503 ? RETRY_AFTER_HEADERS : {})
    }
  }
}

interface RoutingContext {
  readonly context: AdminContext
  readonly bearer: Principal | undefined
  readonly loadApi: () => Promise<ApiListener>
}

async function routeAdminRequest(visit: AdminRequest, { context, bearer, loadApi }: RoutingContext): Promise<void> {
  const { request, response, path } = visit
  const answered = parseAnswerPath(path)
  if (answered !== undefined) {
    requireMethod(visit, ['POST'])
    return serveHookAnswer({
      request,
      response,
      id: answered,
      hook: context.approving.hook,
      bodies: context.bodies,
    }).catch(async (error: unknown) => {
      if (isUnauthenticated(error)) await penalize(visit, 'signature', context)
      throw error
    })
  }
  const principal = authenticateAdmin(request, bearer, context.logins)
  if (path === '/login') return logIn(visit, context)
  if (principal === undefined && context.logins.isStale(request.headers.cookie))
    await penalize(visit, 'cookie', context)
  if (principal === undefined) return refuseAnonymous(visit)
  if (path === '/logout') return logOut(visit, context)
  if (path === '/panic') {
    requireMethod(visit, ['POST'])
    if (!hasRole(principal.role, 'approver'))
      throw new SallyportError('FORBIDDEN', `A ${principal.role} cannot start a LOCKDOWN; an approver can.`)
    return servePanic({ request, response, principal, mode: context.mode })
  }
  if (path === METRICS_PATH) return sendMetrics(visit, context)
  if (isApiPath(path)) {
    cutWithCredential(visit, context)
    return (await loadApi())(request, response, principal)
  }
  requireMethod(visit, ['GET', 'HEAD'])
  return sendUiFile(response, path, { isPageWanted: request.headers.accept?.includes('text/html') === true })
}

/** How often the credential of an answer that is still being sent is checked. */
const CREDENTIAL_CHECK_MS = 1_000

/** Ends an answer that outlasts its login or token: a stream of events. The gateway's own socket needs neither. */
function cutWithCredential({ request, response }: AdminRequest, { logins, tokens }: AdminContext): void {
  const { authorization, cookie } = request.headers
  const isValid = (): boolean =>
    authorization === undefined
      ? cookie === undefined || logins.hasSession(cookie)
      : tokens.verify(readBearerToken(authorization)) !== undefined
  const timer = setInterval(() => isValid() || response.destroy(), CREDENTIAL_CHECK_MS).unref()
  response.once('close', () => clearInterval(timer))
}

/** Counts a refused credential, and waits if its source has to wait. Throws if the source gets another error instead. */
async function penalize(
  { request, response }: AdminRequest,
  kind: CredentialKind,
  { failures }: AdminContext,
): Promise<void> {
  const error = await failures.penalize(request.socket.remoteAddress, kind)
  if (error === undefined) return
  response.setHeader('retry-after', RETRY_AFTER_SECONDS)
  throw error
}

const isUnauthenticated = (error: unknown): boolean =>
  error instanceof SallyportError && error.code === 'UNAUTHENTICATED'

/** Exchanges the one-time code of a login link for a cookie. A HEAD request must not use up the code. */
async function logIn(visit: AdminRequest, context: AdminContext): Promise<void> {
  const { request, response } = visit
  requireMethod(visit, ['GET', 'HEAD'])
  const code = request.method === 'GET' ? new URLSearchParams(request.url?.split('?')[1]).get('token') : undefined
  const cookie = code ? context.logins.redeem(code) : undefined
  if (code && cookie === undefined) await penalize(visit, 'login', context)
  if (cookie === undefined) return sendLoginPage(response, code !== null && code !== undefined)
  response.writeHead(303, { location: '/', 'set-cookie': sessionCookie(cookie), 'content-length': 0 }).end()
}

function logOut(visit: AdminRequest, { logins }: AdminContext): void {
  requireMethod(visit, ['POST'])
  logins.logout(visit.request.headers.cookie)
  visit.response.writeHead(204, { 'set-cookie': clearedCookie() }).end()
}

function refuseAnonymous({ request, response, path }: AdminRequest): void {
  if (!isApiPath(path) && path !== METRICS_PATH && (request.method === 'GET' || request.method === 'HEAD'))
    return sendLoginPage(response, false)
  response.setHeader('www-authenticate', 'Bearer')
  throw new SallyportError('UNAUTHENTICATED', 'This needs the operator’s token or a login.', {
    hint: 'Run `sallyport ui` for a login link.',
  })
}

function sendMetrics(visit: AdminRequest, { metrics }: AdminContext): void {
  requireMethod(visit, ['GET', 'HEAD'])
  const { request, response } = visit
  const exposition = metrics(request.headers.accept)
  if (exposition === undefined)
    throw new SallyportError('ROUTE_UNKNOWN', 'Metrics are off: telemetry.prometheus is false.')
  const { type, text } = exposition
  response.writeHead(200, { 'content-type': type, vary: 'accept', 'content-length': Buffer.byteLength(text) }).end(text)
}

function requireMethod({ request, response, path }: AdminRequest, allowed: readonly string[]): void {
  if (allowed.includes(request.method ?? '')) return
  response.setHeader('allow', allowed.join(', '))
  throw new SallyportError('VERB_REFUSED', `${path} takes ${allowed.join(' or ')}, not ${request.method}.`)
}

const isApiPath = (path: string): boolean => path === '/api' || path.startsWith('/api/')

/** Throws OVERLOADED unless the process can open this many more files now. */
function requireFreeDescriptors(count: number): void {
  const opened: number[] = []
  try {
    while (opened.length < count) opened.push(openSync(devNull, 'r'))
  } catch (cause) {
    throw new SallyportError('OVERLOADED', 'The gateway has too many files and connections open for this.', {
      hint: 'Close some, or allow it more with `ulimit -n`.',
      cause,
    })
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ')

const ADMIN_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  // Cookies and "same site" ignore ports: a page on another port of this host must not even embed an answer.
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
}

/** Sent with every answer of the admin plane. A file with a hashed name overrides `cache-control`. */
function setAdminHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(ADMIN_HEADERS)) response.setHeader(name, value)
}

interface PanicOptions {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly principal: Principal
  readonly mode: ModeState
}

/** LOCKDOWN without the API: loading the API takes time and file descriptors, and an attack may have used up both. */
async function servePanic({ request, response, principal, mode }: PanicOptions): Promise<void> {
  const query = new URLSearchParams(request.url?.split('?')[1])
  const via = OPERATOR_INTERFACES.find((name) => name === query.get('via')) ?? 'api'
  const before = await mode.change({ to: 'LOCKDOWN', by: principal.user, via, why: query.get('why') ?? 'panic' })
  const body = JSON.stringify({ ...modeView(mode), before })
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
}

const ANSWER_PATH = /^\/api\/approvals\/([0-9a-zA-Z_-]{1,64})\/answer$/
const MAX_BODY_BYTES = 16_384

/** The id of the approval request that a web hook answers at this path; `undefined` for other paths. */
const parseAnswerPath = (path: string): string | undefined => ANSWER_PATH.exec(path)?.[1]

interface HookAnswerRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly id: string
  readonly hook: ApprovalContext['hook']
  readonly bodies: BodyBudget
}

/** The one write without a token: the signature of the body is the credential. */
async function serveHookAnswer({ request, response, id, hook, bodies }: HookAnswerRequest): Promise<void> {
  const hint = 'Send only the decision and a reason.'
  const body = await readBody(request, { limit: MAX_BODY_BYTES, hint, budget: bodies, owner: 'anybody' })
  const { callError } = await hook.acceptAnswer(id, { headers: request.headers, body })
  if (callError === undefined) response.writeHead(204).end()
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ call_error: callError }))
}

/** A browser must send this header with every write: forms and pages of other origins cannot. */
const WRITE_HEADER = 'x-sallyport'

const SAFE_METHODS = new Set(['GET', 'HEAD'])
/** `none` is a person who typed the address or opened a bookmark. */
const ALLOWED_FETCH_SITES = new Set([undefined, 'same-origin', 'none'])

/** The operator, or `undefined` if the request has no credential. Throws FORBIDDEN for everybody else. */
function authenticateAdmin(
  request: IncomingMessage,
  bearer: Principal | undefined,
  logins: Logins,
): Principal | undefined {
  if (bearer !== undefined) return requireAdminRole(bearer)
  const principal = logins.verifyCookie(request.headers.cookie)
  if (principal === undefined) return undefined
  refuseCrossSite(request)
  return requireAdminRole(principal)
}

function requireAdminRole(principal: Principal): Principal {
  if (hasRole(principal.role, 'viewer')) return principal
  throw new SallyportError('FORBIDDEN', 'This is an agent’s token; only the operator may use the admin plane.', {
    hint: 'Run `sallyport ui` for a login link, or use the operator’s token.',
  })
}

/** Browsers attach cookies on their own, so a request has to prove that our own page sent it. */
function refuseCrossSite({ method = 'GET', headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site']
  if (!ALLOWED_FETCH_SITES.has(site as string | undefined) && headers['sec-fetch-mode'] !== 'navigate')
    throw new SallyportError('FORBIDDEN', `Another page sent this request (Sec-Fetch-Site: ${String(site)}).`)
  if (SAFE_METHODS.has(method)) return
  if (headers[WRITE_HEADER] !== '1')
    throw new SallyportError('FORBIDDEN', `A write with the login cookie needs the header ${WRITE_HEADER}: 1.`)
  // The request guard has already checked that an Origin, if present, is ours.
  if (headers.origin === undefined)
    throw new SallyportError('FORBIDDEN', 'A write with the login cookie needs an Origin header.')
}
