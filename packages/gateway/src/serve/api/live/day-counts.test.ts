import { expect, it } from 'vitest'
import { sumCounts } from './day-counts.ts'

const HOUR = 3_600_000
const row = (type: string, agent: string, server: string, hour: number, count: number) => ({
  ...{ type, agent, server, count },
  hour: hour * HOUR,
})

it('counts by hour, by agent with what was refused, and by server with what was sent', () => {
  const { counts, hours, flow } = sumCounts([
    row('TOOL_CALL_STARTED', 'codex', 'files', 2, 3),
    row('TOOL_CALL_STARTED', 'codex', 'notes', 1, 1),
    row('POLICY_DENIED', 'amp', 'files', 2, 5),
    row('TOOL_CALL_COMPLETED', 'codex', 'files', 2, 3),
    row('toString', 'codex', 'files', 2, 9),
  ])
  expect(counts).toMatchObject({ calls: 4, refused: 5, failed: 0 })
  expect(hours.map(({ time, calls, refused }) => [time.slice(11, 13), calls, refused])).toEqual([
    ['01', 1, 0],
    ['02', 3, 5],
  ])
  expect(flow.agents).toEqual([
    { name: 'amp', calls: 5 },
    { name: 'codex', calls: 4 },
  ])
  expect(flow.servers).toEqual([
    { name: 'files', calls: 3 },
    { name: 'notes', calls: 1 },
  ])
})

it('sums up all but the largest, however many there are', () => {
  const rows = Array.from({ length: 50 }, (_, at) => row('TOOL_CALL_STARTED', `agent-${at}`, 'files', 1, at + 1))
  const { agents } = sumCounts(rows).flow
  expect(agents.map(({ name }) => name)).toEqual(['agent-49', 'agent-48', 'agent-47', 'agent-46', '(others)'])
  expect(agents.reduce((sum, { calls }) => sum + calls, 0)).toBe((50 * 51) / 2)
})
