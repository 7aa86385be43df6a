import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { LegacyClient } from '../harness/mcp-client.ts'
import { openModernUpstream } from '../harness/modern-upstream.ts'
import { eventually } from '../harness/processes.ts'
import { makePlace, type RunningGateway, replaceFile, runGateway } from '../harness/run-gateway.ts'
import { makeCalls, openHostileModel } from '../isolation/hostile-model.ts'
import { promise } from '../promises.ts'

const SALARY = 'Ada earns 5200'
const RETURNS = {
  type: 'object',
  additionalProperties: false,
  properties: { above: { type: 'boolean' }, count: { type: 'number' } },
}

async function openReading(hold?: (method: string) => Promise<void> | undefined) {
  const tool = (name: string) => ({ name, description: `The tool ${name}`, inputSchema: { type: 'object' } })
  const payroll = await openModernUpstream({
    tools: [tool('get_salaries'), tool('get_menu')],
    results: { get_salaries: { content: [{ type: 'text', text: SALARY }] } },
    hold: ({ method }) => hold?.(method),
  })
  const model = await openHostileModel((_request, response, { tools, messages }) => {
    const own = tools.find((one: any) => one.function.name !== 'complete_task').function.name
    const hasResult = messages.some(({ role }: { role: string }) => role === 'tool')
    makeCalls(response, [
      hasResult ? ['complete_task', { success: true, output: { count: 1, above: true } }] : [own, {}],
    ])
  })
  const place = makePlace({
    governance: { enforce: true },
    isolation: { model: model.settings },
    mcp_servers: { payroll: { url: payroll.url, trusted: true, sensitivity: 'confidential' } },
  })
  const read = { permission: ['READ'], requires_approval: false }
  const isolated = { strategy: 'agent', returns: RETURNS }
  const write = (salaries: object, menu: object): void =>
    replaceFile(
      join(place.home, 'tools.yaml'),
      JSON.stringify({ tools: { 'payroll/get_salaries': { ...read, ...salaries }, 'payroll/get_menu': menu } }),
    )
  write({ isolated }, read)
  const gateway = await runGateway({ place })
  onTestFinished(async () => {
    await gateway.stop()
    await payroll.close()
  })
  const client = await LegacyClient.open(gateway.mcp)
  return { gateway, client, payroll, stopIsolating: () => write({}, { ...read, hidden: true }) }
}

async function labelOf(gateway: RunningGateway): Promise<string> {
  const headers = { authorization: `Bearer ${gateway.token('operator')}` }
  const { sessions } = (await (await fetch(`${gateway.url}/api/sessions`, { headers })).json()) as { sessions: any[] }
  return sessions.find(({ session }) => session === 'local')?.sensitivity
}

it(`${promise('SEN-6')} an isolated reading returns its values in one order, whatever order the model chose`, async () => {
  const { client, gateway } = await openReading()
  expect((await client.call('payroll_get_salaries')).content).toMatchObject([{ text: '{"above":true,"count":1}' }])
  expect(await labelOf(gateway)).toBe('PUBLIC')
})

it('an isolated reading returns nothing to a public session if it is no longer isolated when it ends', async () => {
  let release = (): void => undefined
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const { client, gateway, payroll, stopIsolating } = await openReading((method) =>
    method === 'tools/call' ? gate : undefined,
  )
  const reading = client.call('payroll_get_salaries')
  await eventually(
    () => payroll.of('tools/call').length,
    (count) => count === 1,
  )
  stopIsolating()
  await eventually(
    async () => JSON.stringify((await client.request('tools/list')).message),
    (listed) => !listed.includes('get_menu'),
  )
  release()
  const answer = JSON.stringify(await reading)
  expect(answer).toContain('RESULT_WITHHELD')
  expect(answer).not.toContain(SALARY)
  expect(await labelOf(gateway)).toBe('PUBLIC')
  expect(JSON.stringify(await client.call('payroll_get_salaries'))).toContain(SALARY)
  expect(await labelOf(gateway)).toBe('CONFIDENTIAL')
})
