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

const SUCCEEDED: CallEnd = { outcome: 'success' }
const DENIED: CallEnd = { outcome: 'failed', code: 'CALL_DENIED' }

function openTestWatch() {
  const log = new MemoryLog()
  const warnings: string[] = []
  const watch = openModeWatch({
    state: scratchFolder(),
    log,
    settings: () => SETTINGS,
    onWarning: (text) => warnings.push(text),
  })
  onTestFinished(() => watch.state.close())
  const modeEvents = (): readonly SallyportEvent[] => log.events.filter(({ type }) => type === 'MODE_CHANGED')
  return { ...watch, raw: log, warnings, modeEvents }
}

describe('how calls end', () => {
  it('makes the mode stricter after enough denials, and records that', async () => {
    const { state, callEnded, modeEvents } = openTestWatch()
    callEnded(DENIED)
    expect(state.current.mode).toBe('NORMAL')
    callEnded(DENIED)
    expect(state.current).toMatchObject({ mode: 'ALERT', by: 'automatic', via: 'escalation' })
    await state.close()
    expect(modeEvents()).toMatchObject([{ from: 'NORMAL', to: 'ALERT', by: 'automatic' }])
  })

  it('makes it stricter if tools fail often', () => {
    const { state, callEnded } = openTestWatch()
    for (const end of [SUCCEEDED, SUCCEEDED, { outcome: 'tool_error' } as const]) callEnded(end)
    expect(state.current.mode).toBe('NORMAL')
    callEnded({ outcome: 'failed', code: 'UPSTREAM_DIED' })
    expect(state.current.mode).toBe('DEGRADED')
  })

  it('does not if they succeeded', () => {
    const { state, callEnded } = openTestWatch()
    for (let count = 0; count < 20; count++) callEnded(SUCCEEDED)
    expect(state.current.mode).toBe('NORMAL')
  })

  it('makes it stricter while records cannot be written', () => {
    const { state, callEnded, raw } = openTestWatch()
    raw.failures++
    callEnded(SUCCEEDED)
    expect(state.current.mode).toBe('LOCKDOWN')
    const fine = openTestWatch()
    fine.callEnded(SUCCEEDED)
    expect(fine.state.current.mode).toBe('NORMAL')
  })

  it('resets the counters after a person has relaxed the mode', async () => {
    const { state, callEnded } = openTestWatch()
    await state.change({ to: 'ALERT', by: 'ann', via: 'cli' })
    callEnded(DENIED)
    await state.change({ to: 'NORMAL', by: 'ann', via: 'cli', why: 'seen' })
    callEnded(DENIED)
    expect(state.current.mode).toBe('NORMAL')
    callEnded(DENIED)
    expect(state.current.mode).toBe('ALERT')
  })
})
