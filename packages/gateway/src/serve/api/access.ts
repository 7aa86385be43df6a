import { type AdminRole, SallyportError } from '@sallyport/core'
import type { MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { type ApiEnv, requireRole } from './routes.ts'

/**
 * The weakest role that may use each route. A route that is not in this table refuses everybody. `always` as the answer
 * to an approval needs the role operator as well, because it writes a rule.
 */
export const ROUTE_ROLES: Readonly<Record<string, AdminRole>> = {
  'GET /api/openapi.json': 'viewer',
  'GET /api/me': 'viewer',
  'GET /api/overview': 'viewer',
  'GET /api/status': 'viewer',
  'GET /api/stream': 'viewer',
  'GET /api/servers': 'viewer',
  'GET /api/servers/:id': 'viewer',
  'GET /api/sandboxes': 'viewer',
  'GET /api/tools': 'viewer',
  'GET /api/tools/:name': 'viewer',
  'GET /api/offers': 'viewer',
  'GET /api/offers/:name': 'viewer',
  'GET /api/tools-file': 'viewer',
  'GET /api/tools-file/entries': 'viewer',
  'GET /api/tools-file/rules': 'viewer',
  'GET /api/profiles': 'viewer',
  'GET /api/profiles/:agent/:variant': 'viewer',
  'GET /api/agents': 'viewer',
  'GET /api/agents/:agent/tools': 'viewer',
  'GET /api/agents/:agent/files': 'viewer',
  'GET /api/agents/:agent/uses': 'viewer',
  'GET /api/found-agents': 'viewer',
  'GET /api/servers/:id/health': 'viewer',
  'GET /api/events': 'viewer',
  'GET /api/events/follow': 'viewer',
  'GET /api/explain/:id': 'viewer',
  'GET /api/calls/:id/today': 'viewer',
  'GET /api/savings': 'viewer',
  'GET /api/savings/history': 'viewer',
  'GET /api/approvals': 'viewer',
  'GET /api/approvals/:id': 'viewer',
  'GET /api/mode': 'viewer',
  'GET /api/sessions': 'viewer',
  'GET /api/sessions/limits': 'viewer',
  'GET /api/tokens': 'viewer',

  'POST /api/approvals/:id': 'approver',

  'POST /api/tools/:name/accept': 'operator',
  'POST /api/offers/:name/accept': 'operator',
  'PUT /api/profiles/:agent/:variant': 'operator',
  'DELETE /api/profiles/:agent/:variant': 'operator',
  'POST /api/config/preview': 'operator',
  'GET /api/servers/:id/entry': 'operator',
  'POST /api/config/apply': 'operator',
  'POST /api/servers/:id/restart': 'operator',
  'POST /api/agents/:agent/connect': 'operator',
  'POST /api/tools-file/preview': 'operator',
  'POST /api/tools-file/apply': 'operator',
  'POST /api/call': 'operator',
  'POST /api/calls/:id/result': 'operator',
  'POST /api/verdict': 'operator',
  'PUT /api/mode': 'operator',
  'POST /api/sessions/raise': 'operator',
  'POST /api/sessions/end': 'operator',
  'POST /api/tokens': 'operator',
  'DELETE /api/tokens/:id': 'operator',
  'POST /api/login-links': 'operator',
}

/** Refuses a caller whose role is too weak for the route, before the route reads anything. */
export const checkAccess: MiddlewareHandler<ApiEnv> = async (c, next) => {
  const caller = requireRole(c.env, 'viewer')
  const route = matchedRoutes(c).find(({ method }) => method !== 'ALL')
  // Without a route there is nothing to protect: the answer is 404 or 405.
  if (route !== undefined) requireRole({ principal: caller }, findRole(`${route.method} ${route.path}`))
  await next()
}

function findRole(route: string): AdminRole {
  const role = Object.hasOwn(ROUTE_ROLES, route) ? ROUTE_ROLES[route] : undefined
  if (role === undefined) throw new SallyportError('FORBIDDEN', `Nobody may use ${route}: it has no role.`)
  return role
}
