import type { SallyportEvent } from '@sallyport/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DEFAULT_SETTINGS, type Settings } from '../config/config.ts'
import { MemoryLog } from '../pipeline/pipeline.test-kit.ts'
import { scratchFolder } from '../store/scratch.test-kit.ts'
import type { CallEnd } from '../telemetry/telemetry.ts'
import { openModeWatch } from './mode-watch.ts'

const SETTINGS: Settings = {
  ...DEFAULT_SETTINGS,
  governance: {
    ...DEFAULT_SETTINGS.governance,
    escalation: {
      policyViolations: { count: 2, window: 60_000, to: 'ALERT' },
      toolErrors: { rate: 0.5, least: 4, window: 60_000, to: 'DEGRADED' },
      upstreamFlapping: undefined,
      auditFailing: { lasting: 0, to: 'LOCKDOWN' },
    },
  },
}

const WELL: CallEnd = { outcome: 'success' }
const DENIED: CallEnd = { outcome: 'failed', code: 'CALL_DENIED' }

function bench() {
  const log = new MemoryLog()
  const troubles: string[] = []
  const watch = openModeWatch({
    state: scratchFolder(),
    log,
    settings: () => SETTINGS,
    onWarning: (text) => troubles.push(text),
  })
  onTestFinished(() => watch.state.close())
  const modeEvents = (): readonly SallyportEvent[] => log.events.filter(({ type }) => type === 'MODE_CHANGED')
  return { ...watch, raw: log, troubles, modeEvents }
}

describe('how calls end', () => {
  it('raises the mode when denials are enough, and that is recorded too', async () => {
    const { state, callEnded, modeEvents } = bench()
    callEnded(DENIED)
    expect(state.current.mode).toBe('NORMAL')
    callEnded(DENIED)
    expect(state.current).toMatchObject({ mode: 'ALERT', by: 'automatic', via: 'escalation' })
    await state.close()
    expect(modeEvents()).toMatchObject([{ from: 'NORMAL', to: 'ALERT', by: 'automatic' }])
  })

  it('raises it when tools fail often', () => {
    const { state, callEnded } = bench()
    for (const end of [WELL, WELL, { outcome: 'tool_error' } as const]) callEnded(end)
    expect(state.current.mode).toBe('NORMAL')
    callEnded({ outcome: 'failed', code: 'UPSTREAM_DIED' })
    expect(state.current.mode).toBe('DEGRADED')
  })

  it('does not when they ended well', () => {
    const { state, callEnded } = bench()
    for (let count = 0; count < 20; count++) callEnded(WELL)
    expect(state.current.mode).toBe('NORMAL')
  })

  it('raises it when their records cannot be written, and not once they can be', () => {
    const { state, callEnded, raw } = bench()
    raw.failures++
    callEnded(WELL)
    expect(state.current.mode).toBe('LOCKDOWN')
    const fine = bench()
    fine.callEnded(WELL)
    expect(fine.state.current.mode).toBe('NORMAL')
  })

  it('counts anew after a person has relaxed the mode', async () => {
    const { state, callEnded } = bench()
    await state.change({ to: 'ALERT', by: 'ann', via: 'cli' })
    callEnded(DENIED)
    await state.change({ to: 'NORMAL', by: 'ann', via: 'cli', why: 'seen' })
    callEnded(DENIED)
    expect(state.current.mode).toBe('NORMAL')
    callEnded(DENIED)
    expect(state.current.mode).toBe('ALERT')
  })
})
