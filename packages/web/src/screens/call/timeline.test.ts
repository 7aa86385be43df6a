import { describe, expect, it } from 'vitest'
import type { EventView } from '../../../../gateway/src/serve/api/api.ts'
import { buildTimeline, drawBars } from './timeline.ts'

const records = (...events: readonly object[]): readonly EventView[] =>
  events.map((event, seq) => ({ seq, time: '2026-11-19T12:00:00.000Z', server: 'files', ...event })) as never

describe('where the time of a call went', () => {
  it('is divided between the gateway and the server', () => {
    const timeline = buildTimeline(
      records(
        { type: 'TOOL_CALL_STARTED', decided_ms: 0.02 },
        { type: 'TOOL_CALL_COMPLETED', latency_ms: 10, server_ms: 8 },
      ),
    )
    expect(timeline.stages.map(({ id, at, ms }) => [id, at, ms])).toEqual([
      ['decide', 0, 0.02],
      ['send', 0.02, 8],
      ['return', 8.02, 2],
    ])
    expect(timeline.shares).toEqual([
      { holder: 'gateway', ms: 2.02 },
      { holder: 'server', ms: 8 },
    ])
  })

  it('has the time of the person who was asked, drawn shorter than it was', () => {
    const timeline = buildTimeline(
      records(
        { type: 'APPROVAL_REQUESTED' },
        { type: 'APPROVAL_ANSWERED', time: '2026-11-19T12:00:30.000Z', answer: 'once', by: 'ann', via: 'web' },
        { type: 'TOOL_CALL_STARTED', decided_ms: 1 },
        { type: 'TOOL_CALL_COMPLETED', latency_ms: 10, server_ms: 9 },
      ),
    )
    expect(timeline.stages.map(({ id, ms }) => [id, ms])).toContainEqual(['wait', 30_000])
    const bars = drawBars(timeline)
    expect(bars.map(({ isCut }) => isCut)).toEqual([false, true, false, false])
    expect(bars[1]?.width).toBeCloseTo(45)
    for (const { x, width } of bars) expect(x + width).toBeLessThanOrEqual(100.000_1)
  })

  it('says what records of older gateways say, and nothing of a call without records of its end', () => {
    const old = records({ type: 'TOOL_CALL_STARTED' }, { type: 'TOOL_CALL_COMPLETED', latency_ms: 10 })
    expect(buildTimeline(old).stages.map(({ id, ms }) => [id, ms])).toEqual([['send', 10]])
    expect(buildTimeline(records({ type: 'TOOL_CALL_STARTED' }))).toEqual({ stages: [], total: 0, shares: [] })
    expect(drawBars({ stages: [] })).toEqual([])
    const unknown = records({ type: 'TOOL_CALL_FAILED', error: 'TOOL_UNKNOWN', latency_ms: 0 })
    expect(buildTimeline(unknown).stages).toEqual([])
  })
})
