import type { CallFacts, ReturnedFacts } from '@sallyport/core'
import { expect, it } from 'vitest'
import { promise } from '../../../../../../tests/promises.ts'
import { type AdminTestGateway, openAdminTestGateway } from '../../admin/admin.test-kit.ts'
import type { SavingsHistory } from '../api.ts'

const FACTS: CallFacts = {
  ...{ call_id: 'c', trace_id: 't', user: 'ann', agent: 'codex', profile: 'docs', session: 'one', server: 'hostile' },
  ...{ method: 'tools/call', tool_name: 'mcp__hostile__echo', is_mcp: true },
}

function record(admin: AdminTestGateway, facts: Partial<CallFacts>, bytes: number, returned?: ReturnedFacts): void {
  const end = { type: 'TOOL_CALL_COMPLETED', success: true, latency_ms: 1, bytes } as const
  admin.gateway.record({ ...end, ...FACTS, ...facts, ...(returned && { returned }) })
}

const returned = (strategy: string, bytes: number, kept: number): ReturnedFacts => ({
  strategy,
  bytes,
  tokens_kept: kept,
})

const putProfile = (admin: AdminTestGateway, selectedMcpTools: readonly string[]) =>
  admin.api('/api/profiles/codex/docs', { method: 'PUT', headers: { 'if-match': '*' }, body: { selectedMcpTools } })

async function readHistory(admin: AdminTestGateway, since = ''): Promise<SavingsHistory> {
  const { status, body } = await admin.api(`/api/savings/history${since && `?since=${since}`}`)
  expect({ status, error: body.error }).toEqual({ status: 200 })
  return body
}

it(`${promise('WEB-9')} adds up what shaping and isolation kept out, what reached agents, and what was read later`, async () => {
  const admin = await openAdminTestGateway()
  record(admin, {}, 4_000, returned('shaped', 400, 900))
  record(admin, { agent: 'any', profile: 'default' }, 8_000, returned('extract', 800, 1_800))
  record(admin, {}, 40)
  record(admin, { tool_name: 'mcp__sallyport__read_result', server: 'sallyport' }, 200)
  const { total, tools, hours, profiles } = await readHistory(admin)
  expect(total).toMatchObject({ shaped: 900, isolated: 1_800, reached: 100 + 200 + 10 + 50, readBack: 50 })
  expect(total).toMatchObject({ calls: 4, shortened: 2 })
  expect(tools).toEqual([{ name: 'mcp__hostile__echo', calls: 3, shortened: 2, shaped: 900, isolated: 1_800 }])
  expect(hours.reduce((sum, { shaped, isolated }) => sum + shaped + isolated, 0)).toBe(2_700)
  // Nobody has defined codex.docs, so it selects nothing that could be counted.
  expect(profiles.map(({ agent, definitions }) => [agent, definitions !== undefined])).toEqual([
    ['any', true],
    ['codex', false],
  ])
})

it(`${promise('WEB-9')} counts what a selection leaves out once for each session and hour, and not before its last change`, async () => {
  const admin = await openAdminTestGateway()
  await admin.api('/api/tools?server=hostile')
  record(admin, { session: 'before' }, 40)
  await putProfile(admin, ['hostile/echo'])
  await expect
    .poll(async () => (await admin.api('/api/events?type=PROFILES_CHANGED')).body.events.length)
    .toBeGreaterThan(0)
  for (const session of ['one', 'one', 'two']) record(admin, { session }, 40)
  const { profiles, total } = await readHistory(admin)
  const { tokens } = (await admin.api('/api/agents/codex/tools?variant=docs')).body
  expect(profiles).toMatchObject([{ agent: 'codex', profile: 'docs', calls: 4, definitions: tokens }])
  const left = tokens.available - tokens.selected
  expect(left).toBeGreaterThan(0)
  const { events } = (await admin.api('/api/events?type=TOOL_CALL_COMPLETED')).body
  const counted = events.filter(({ session }: CallFacts) => session !== 'before')
  const turns = new Set(counted.map((event: CallFacts & { time: string }) => event.time.slice(0, 13) + event.session))
  expect(total.selected).toBe(turns.size * left)
})

it('is empty for a time without calls, and refuses a time that is none', async () => {
  const admin = await openAdminTestGateway()
  record(admin, {}, 40)
  const later = new Date(Date.now() + 60_000).toISOString()
  expect(await readHistory(admin, later)).toMatchObject({ total: { calls: 0 }, hours: [], tools: [], profiles: [] })
  expect((await admin.api('/api/savings/history?since=yesterday')).status).toBe(400)
})

it('is not counted again at once, however often pages ask', async () => {
  const admin = await openAdminTestGateway()
  const since = new Date(Date.now() - 60_000).toISOString()
  const first = await readHistory(admin, since)
  record(admin, {}, 40)
  const answers = await Promise.all(Array.from({ length: 5 }, () => readHistory(admin, since)))
  for (const { counted, total } of answers)
    if (counted === first.counted) expect(total.calls).toBe(0)
    else expect(total.calls).toBe(1)
  await expect.poll(async () => (await readHistory(admin, since)).total.calls, { timeout: 20_000 }).toBe(1)
})
