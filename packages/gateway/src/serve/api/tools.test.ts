import { expect, it } from 'vitest'
import { eventually } from '../../../../../tests/harness/processes.ts'
import { openAdminTestGateway } from '../admin/admin.test-kit.ts'

it('lists every tool, and for one that is not offered the step that decided', async () => {
  const { api } = await openAdminTestGateway()
  const { body } = await api('/api/tools?server=hostile')
  const byName = Object.fromEntries(body.tools.map((tool: { tool: string }) => [tool.tool, tool]))
  expect(byName.echo).toMatchObject({
    name: 'hostile_echo',
    canonical: 'mcp__hostile__echo',
    server: 'hostile',
    offered: true,
  })
  expect(byName.die).toMatchObject({
    offered: false,
    decidedBy: { step: 'select', outcome: 'deny', code: 'CALL_DENIED' },
  })
  expect(byName.die.decidedBy.rule).toMatchObject({ file: expect.stringContaining('config.yaml'), line: 1 })
})

it('filters the list by server and by glob', async () => {
  const { api } = await openAdminTestGateway()
  const names = async (query: string): Promise<string[]> =>
    (await api(`/api/tools${query}`)).body.tools.map((tool: { canonical: string }) => tool.canonical)
  expect(await names('?match=mcp__hostile__big*')).toEqual(
    (await names('?server=hostile')).filter((name) => name.startsWith('mcp__hostile__big')),
  )
  expect(await names('?server=sallyport&match=hostile/*')).toEqual([])
  expect(await names('?match=no-such-*')).toEqual([])
  expect((await names('')).length).toBeGreaterThan((await names('?server=hostile')).length)
})

it('finds one tool by any of its names', async () => {
  const { api } = await openAdminTestGateway()
  for (const name of ['mcp__hostile__echo', 'hostile%2Fecho', 'hostile_echo', 'echo']) {
    const { status, body } = await api(`/api/tools/${name}`)
    expect({ name, status, canonical: body.canonical }).toEqual({ name, status: 200, canonical: 'mcp__hostile__echo' })
    expect(body.definition).toMatchObject({ name: 'hostile_echo', inputSchema: { type: 'object' } })
    expect(body.decision).toMatchObject({
      outcome: 'allow',
      steps: [{ step: 'select' }, { step: 'mode' }, { step: 'pin' }],
    })
  }
})

it('shows the fields that govern each tool, with reasons, and filters the list by risk', async () => {
  const { api } = await openAdminTestGateway()
  const { body } = await eventually(
    () => api('/api/tools/echo'),
    (answer) => answer.body.review !== undefined,
  )
  expect(body).toMatchObject({ risk: 'medium', source: 'tools.yaml', hasEntry: true, pin: 'pinned', findings: [] })
  const field = (name: string) => body.policy.find((one: { field: string }) => one.field === name)
  const { file, line } = body.entries[0]
  expect(body.entries).toEqual([{ key: 'mcp__hostile__echo', file: expect.stringMatching(/tools\.yaml$/), line }])
  expect(field('risk_level')).toEqual({
    field: 'risk_level',
    value: 'medium',
    reason: 'as written',
    rule: { file, line: line + 3 },
  })
  expect(field('hidden')).toEqual({ field: 'hidden', value: false, reason: 'the default' })
  expect(body.review).toMatchObject({ now: body.review.pin, changes: [] })
  const { tools } = (await api('/api/tools?risk=high')).body
  expect(new Set(tools.map(({ risk }: { risk: string }) => risk))).toEqual(new Set(['high']))
  expect((await api('/api/tools?risk=huge')).body.error.code).toBe('INVALID_PARAMS')
})

it('accepts only the definition that was shown, and changes nothing if it is already pinned', async () => {
  const { api, gateway } = await openAdminTestGateway()
  const { body } = await eventually(
    () => api('/api/tools/echo'),
    (answer) => answer.body.review !== undefined,
  )
  const accept = (pin: string) => api('/api/tools/echo/accept', { method: 'POST', body: { pin } })
  expect((await accept('sha256-0')).body.error.code).toBe('DEFINITION_CHANGED')
  const before = gateway.governance.tools.file
  expect(await accept(body.review.now)).toMatchObject({ status: 200, body: { pin: 'pinned' } })
  expect(gateway.governance.tools.file).toBe(before)
})

it('lists the problems in tools.yaml that a person should check', async () => {
  const { api, gateway } = await openAdminTestGateway()
  expect((await api('/api/tools-file')).body).toMatchObject({ entries: expect.any(Number), problems: [] })
  const key = 'mcp__hostile__echo'
  await gateway.governance.tools.set({ key, field: 'pin', value: 'sha256-0' })
  await gateway.governance.tools.set({ key, field: 'result', value: 'sql_querry' })
  const { problems } = (await api('/api/tools-file')).body
  expect(problems).toMatchObject([
    { kind: 'invalid', level: 'wrong', problem: expect.stringContaining('There is no preset "sql_querry"') },
    { kind: 'drift', level: 'wrong', tool: key, fix: expect.stringContaining(`tools accept ${key}`) },
  ])
  const { warnings } = (await api('/api/status')).body
  expect(warnings).toEqual(problems.map(({ problem }: { problem: string }) => problem))
})
