import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Principal, SallyportError } from '@sallyport/core'
import { RETRY_AFTER_HEADERS } from '@sallyport/kit/http-intake'
import { type CredentialKind, clearedCookie, RETRY_AFTER_SECONDS, sessionCookie } from '../sessions/sessions.ts'
import { authenticateAdmin } from './admin-caller.ts'
import type { AdminContext } from './admin-context.ts'
import { setAdminHeaders } from './admin-headers.ts'
import { parseAnswerPath, serveHookAnswer } from './hook-answer.ts'
import { pathOf, type Routes } from './http-server.ts'
import { LOGIN_PAGE } from './login-page.ts'
import { servePanic } from './panic.ts'
import { sendProblem } from './problem.ts'
import { requireFreeDescriptors } from './spare-descriptors.ts'
import { sendUiFile } from './ui-files.ts'

interface AdminRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
}

type ApiListener = (request: IncomingMessage, response: ServerResponse, principal: Principal) => Promise<void>

const METRICS_PATH = '/metrics'

type LoadApi = (context: AdminContext) => Promise<ApiListener>

/** So many files are open at once while the API is loaded. */
const API_FILE_COUNT = 128

const loadApiListener: LoadApi = async (context) => {
  // Node remembers for ever that a module could not be read.
  requireFreeDescriptors(API_FILE_COUNT)
  const { createApiListener } = await import('./api/api-listener.ts')
  return createApiListener(context)
}

/** The admin plane: the web UI and the API, for the operator and nobody else. */
export function createAdmin(context: AdminContext, load: LoadApi = loadApiListener): Routes['admin'] {
  let api: Promise<ApiListener> | undefined
  // Loading Hono and the schemas takes longer than the whole start may: the first request pays for it.
  const loadApi = (): Promise<ApiListener> => {
    api ??= load(context).catch((error: unknown) => {
      // What failed for one may succeed for the next.
      api = undefined
      throw error
    })
    return api
  }
  return async (request, response, bearer) => {
    setAdminHeaders(response)
    const visit = { request, response, path: pathOf(request) }
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
    return servePanic({ request, response, principal, mode: context.mode })
  }
  if (path === METRICS_PATH) return sendMetrics(visit, context)
  if (isApiPath(path)) return (await loadApi())(request, response, principal)
  requireMethod(visit, ['GET', 'HEAD'])
  return sendUiFile(response, path)
}

/** Counts a credential that was refused, and waits where its source has to. Throws if the answer is another. */
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

/** Trades the one-time code of a link for a cookie. A HEAD request must not use it up. */
async function logIn(visit: AdminRequest, context: AdminContext): Promise<void> {
  const { request, response } = visit
  requireMethod(visit, ['GET', 'HEAD'])
  const code = request.method === 'GET' ? new URLSearchParams(request.url?.split('?')[1]).get('token') : undefined
  const cookie = code ? context.logins.redeem(code) : undefined
  if (code && cookie === undefined) await penalize(visit, 'login', context)
  if (cookie === undefined) return sendLoginPage(response)
  response.writeHead(303, { location: '/', 'set-cookie': sessionCookie(cookie), 'content-length': 0 }).end()
}

function logOut(visit: AdminRequest, { logins }: AdminContext): void {
  requireMethod(visit, ['POST'])
  logins.logout(visit.request.headers.cookie)
  visit.response.writeHead(204, { 'set-cookie': clearedCookie() }).end()
}

function refuseAnonymous({ request, response, path }: AdminRequest): void {
  if (!isApiPath(path) && path !== METRICS_PATH && (request.method === 'GET' || request.method === 'HEAD'))
    return sendLoginPage(response)
  response.setHeader('www-authenticate', 'Bearer')
  throw new SallyportError('UNAUTHENTICATED', 'This needs the operator’s token or a login.', {
    hint: 'Run `sallyport ui` for a login link.',
  })
}

function sendMetrics(visit: AdminRequest, { metrics }: AdminContext): void {
  requireMethod(visit, ['GET', 'HEAD'])
  const { request, response } = visit
  const told = metrics(request.headers.accept)
  if (told === undefined)
    throw new SallyportError('ROUTE_UNKNOWN', 'There are no figures here: telemetry.prometheus is false.')
  const { type, text } = told
  response.writeHead(200, { 'content-type': type, vary: 'accept', 'content-length': Buffer.byteLength(text) }).end(text)
}

function requireMethod({ request, response, path }: AdminRequest, allowed: readonly string[]): void {
  if (allowed.includes(request.method ?? '')) return
  response.setHeader('allow', allowed.join(', '))
  throw new SallyportError('VERB_REFUSED', `${path} takes ${allowed.join(' or ')}, not ${request.method}.`)
}

function sendLoginPage(response: ServerResponse): void {
  const length = Buffer.byteLength(LOGIN_PAGE)
  response.writeHead(401, { 'content-type': 'text/html; charset=utf-8', 'content-length': length }).end(LOGIN_PAGE)
}

const isApiPath = (path: string): boolean => path === '/api' || path.startsWith('/api/')
