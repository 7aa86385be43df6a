import { expect, it } from 'vitest'
import { openAdminBench } from '../admin.test-kit.ts'

it('lists every tool, and says of one that is not offered who decided that', async () => {
  const { api } = await openAdminBench()
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

it('narrows the list by a server and by a glob', async () => {
  const { api } = await openAdminBench()
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
  const { api } = await openAdminBench()
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
