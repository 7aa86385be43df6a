import type { CallFacts, SallyportEvent } from '@sallyport/core'
import { expect, it } from 'vitest'
import { openTestStore, scratchFolder } from './scratch.test-kit.ts'
import type { Store } from './store.ts'

const NOON = Date.parse('2026-03-01T12:00:00Z')
const HOUR = 3_600_000

const FACTS: CallFacts = {
  ...{ call_id: 'c', trace_id: 't', user: 'ann', agent: 'codex', profile: 'default', session: 's', server: 'files' },
  ...{ method: 'tools/call', tool_name: 'mcp__files__read', is_mcp: true },
}

const startOf = (facts: Partial<CallFacts> = {}): SallyportEvent => ({
  type: 'TOOL_CALL_STARTED',
  steps: {},
  ...FACTS,
  ...facts,
})

function openClockedStore() {
  const clock = { now: NOON }
  const store = openTestStore({ state: scratchFolder(), now: () => new Date(clock.now) })
  const write = (events: readonly SallyportEvent[], now = clock.now): void => {
    clock.now = now
    for (const event of events) store.log.append(event)
  }
  return { store, write }
}

const sum = async (store: Store, since: number): Promise<number | undefined> =>
  (await store.count(new Date(since)))?.reduce((total, { count }) => total + count, 0)

it('records are counted by type, agent, server and hour, and those before a time are not', async () => {
  const { store, write } = openClockedStore()
  write([startOf(), startOf({ server: 'notes' })])
  write([startOf(), startOf(), startOf({ agent: 'amp' })], NOON + HOUR)
  const row = { type: 'TOOL_CALL_STARTED', agent: 'codex', server: 'files' }
  const rows = await store.count(new Date(NOON))
  expect(rows).toHaveLength(4)
  expect(rows).toEqual(
    expect.arrayContaining([
      { ...row, hour: NOON, count: 1 },
      { ...row, hour: NOON + HOUR, count: 2 },
      { ...row, agent: 'amp', hour: NOON + HOUR, count: 1 },
    ]),
  )
  expect(await sum(store, NOON + 1)).toBe(3)
})

it('each record is counted once, however often and in however many slices', async () => {
  const { store, write } = openClockedStore()
  let written = 0
  for (const more of [1, 25_000, 0, 7]) {
    write(Array.from({ length: more }, () => startOf()))
    written += more
    expect(await sum(store, NOON)).toBe(written)
    expect(await sum(store, NOON - HOUR)).toBe(written)
  }
})

it('the last use of a tool is by the agent that is asked about', async () => {
  const { store, write } = openClockedStore()
  write([startOf(), startOf({ tool_name: 'mcp__files__write' })])
  expect(await store.lastUses('codex')).toEqual(
    new Map([
      ['mcp__files__read', NOON],
      ['mcp__files__write', NOON],
    ]),
  )
  write([startOf(), startOf({ agent: 'amp', tool_name: 'mcp__files__write' })], NOON + HOUR)
  expect(await store.lastUses('codex')).toEqual(
    new Map([
      ['mcp__files__read', NOON + HOUR],
      ['mcp__files__write', NOON],
    ]),
  )
  expect(await store.lastUses('nobody')).toEqual(new Map())
})
