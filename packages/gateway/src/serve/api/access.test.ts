import { ADMIN_ROLES, hasRole, type Principal } from '@sallyport/core'
import { expect, it } from 'vitest'
import { OPERATOR, openAdminTestGateway } from '../admin/admin.test-kit.ts'
import { ROUTE_ROLES } from './access.ts'
import { createApi } from './api.ts'

async function openApi() {
  const { context } = await openAdminTestGateway()
  const api = createApi(context)
  const routes = api.routes.filter(({ method }) => method !== 'ALL').map(({ method, path }) => ({ method, path }))
  const ask = async (route: string, role: string, body?: unknown) => {
    const [method = '', path = ''] = route.split(' ')
    const hasBody = method === 'POST' || method === 'PUT'
    const response = await api.request(
      path.replaceAll(/:\w+/g, 'none'),
      { method, ...(hasBody && { body: JSON.stringify(body ?? { unknown: 1 }) }), headers: JSON_HEADERS },
      { principal: { ...OPERATOR, role } as Principal },
    )
    const text = response.headers.get('content-type')?.startsWith('application/json') ? await response.text() : ''
    await response.body?.cancel().catch(() => undefined)
    return { status: response.status, text }
  }
  return { routes, ask }
}

const JSON_HEADERS = { 'content-type': 'application/json' }

it('every route is in the table of roles, and the table has no other', async () => {
  const { routes } = await openApi()
  const served = new Set(routes.map(({ method, path }) => `${method} ${path}`))
  expect([...served].sort()).toEqual(Object.keys(ROUTE_ROLES).sort())
})

it('each route refuses the roles below its own, unknown roles, and agents', async () => {
  const { ask } = await openApi()
  for (const [route, needed] of Object.entries(ROUTE_ROLES)) {
    for (const role of [...ADMIN_ROLES, 'agent', 'admin', '']) {
      const { status } = await ask(route, role)
      expect({ route, role, isRefused: status === 403 }).toEqual({ route, role, isRefused: !hasRole(role, needed) })
    }
  }
})

it('a route that changes something needs more than a viewer', () => {
  for (const [route, needed] of Object.entries(ROUTE_ROLES))
    if (!route.startsWith('GET ')) expect({ route, needed }).not.toEqual({ route, needed: 'viewer' })
})

it('an approver answers one call, and only an operator writes a rule for all', async () => {
  const { ask } = await openApi()
  const answer = (role: string, given: string) => ask('POST /api/approvals/:id', role, { answer: given })
  expect((await answer('approver', 'once')).status).toBe(404)
  const refused = await answer('approver', 'always')
  expect(refused.status).toBe(403)
  expect(JSON.parse(refused.text).error.message).toBe('This needs the role operator; the caller has the role approver.')
  expect((await answer('operator', 'always')).status).toBe(404)
})
