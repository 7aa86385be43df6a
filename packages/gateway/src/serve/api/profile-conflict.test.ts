import { expect, it } from 'vitest'
import { openAdminTestGateway } from '../admin/admin.test-kit.ts'

it('of two editors of one profile, the second gets the version of the first and overwrites nothing', async () => {
  const admin = await openAdminTestGateway()
  const path = '/api/profiles/cursor/default'
  const put = (selectedMcpTools: readonly string[], headers: Record<string, string>) =>
    admin.api(path, { method: 'PUT', headers, body: { selectedMcpTools } })
  expect((await put(['hostile/echo'], { 'if-none-match': '*' })).status).toBe(200)
  const late = await put([], { 'if-none-match': '*' })
  expect({ status: late.status, code: late.body.error.code }).toEqual({ status: 412, code: 'PROFILES_CHANGED' })
  expect(late.body.current.selectedMcpTools).toEqual(['hostile/echo'])
  expect(late.headers.etag).toBe(`"${late.body.current.etag}"`)
  const after = await put([], { 'if-match': String(late.headers.etag) })
  expect(after.body.selectedMcpTools).toEqual([])
  expect((await put(['hostile/echo'], { 'if-match': String(late.headers.etag) })).status).toBe(412)
  expect((await put([], { 'if-match': '*', 'if-none-match': '*' })).status).toBe(400)
})

it('editors of different profiles do not disturb each other', async () => {
  const admin = await openAdminTestGateway()
  const put = (variant: string, headers: Record<string, string>, title: string) =>
    admin.api(`/api/profiles/cursor/${variant}`, { method: 'PUT', headers, body: { title } })
  await put('one', { 'if-none-match': '*' }, 'one')
  await put('two', { 'if-none-match': '*' }, 'two')
  const { profiles } = (await admin.api('/api/profiles')).body
  const etags = Object.fromEntries(profiles.map(({ name, etag }: Record<string, string>) => [name, `"${etag}"`]))
  const answers = [
    await put('one', { 'if-match': etags['cursor.one'] }, 'first'),
    await put('two', { 'if-match': etags['cursor.two'] }, 'second'),
    await put('two', { 'if-match': etags['cursor.two'] }, 'third'),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 412])
  const gone = await admin.api('/api/profiles/cursor/one', {
    method: 'DELETE',
    headers: { 'if-match': etags['cursor.one'] },
  })
  expect(gone.status).toBe(412)
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
