import { expect, it } from 'vitest'
import { openAdminTestGateway } from '../admin/admin.test-kit.ts'

it('of two editors of one profile, the second gets the version of the first and overwrites nothing', async () => {
  const admin = await openAdminTestGateway()
  const path = '/api/profiles/cursor/default'
  const etag = String((await admin.api('/api/profiles')).headers.etag)
  const put = (selectedMcpTools: readonly string[], match: string) =>
    admin.api(path, { method: 'PUT', headers: { 'if-match': match }, body: { selectedMcpTools } })
  expect((await put(['hostile/echo'], etag)).status).toBe(200)
  const late = await put([], etag)
  expect({ status: late.status, code: late.body.error.code }).toEqual({ status: 412, code: 'PROFILES_CHANGED' })
  expect(late.body.current.selectedMcpTools).toEqual(['hostile/echo'])
  const after = await put([], String(late.headers.etag))
  expect(after.body.selectedMcpTools).toEqual([])
})

it('the tools of an agent have their cost and their rules, and stale selectors are listed', async () => {
  const admin = await openAdminTestGateway()
  const body = { selectedMcpTools: ['hostile/echo', 'gone/tool'], tokenBudget: 500 }
  await admin.api('/api/profiles/cursor/default', { method: 'PUT', headers: { 'if-match': '*' }, body })
  const { body: tools } = await admin.api('/api/agents/cursor/tools')
  expect(tools).toMatchObject({ selectors: body.selectedMcpTools, stale: ['gone/tool'], tokenBudget: 500 })
  const hostile = tools.servers.find(({ id }: { id: string }) => id === 'hostile')
  const echo = hostile.tools.find(({ tool }: { tool: string }) => tool === 'echo')
  expect(echo).toMatchObject({ selected: true, tokens: expect.any(Number), risk: expect.any(String) })
  expect(tools.tokens.selected).toBe(echo.tokens)
  const none = await admin.api('/api/agents/aider/tools')
  expect(none.body).toMatchObject({ supportsMcp: false, servers: [], stale: [] })
})
