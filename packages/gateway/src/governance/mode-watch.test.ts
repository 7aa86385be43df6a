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
    onTrouble: (text) => troubles.push(text),
  })
  onTestFinished(() => watch.keeper.close())
  const modeEvents = (): readonly SallyportEvent[] => log.events.filter(({ type }) => type === 'MODE_CHANGED')
  return { ...watch, raw: log, troubles, modeEvents }
}

describe('how calls end', () => {
  it('raises the mode when denials are enough, and that is recorded too', async () => {
    const { keeper, ended, modeEvents } = bench()
    ended(DENIED)
    expect(keeper.current.mode).toBe('NORMAL')
    ended(DENIED)
    expect(keeper.current).toMatchObject({ mode: 'ALERT', by: 'automatic', via: 'escalation' })
    await keeper.close()
    expect(modeEvents()).toMatchObject([{ from: 'NORMAL', to: 'ALERT', by: 'automatic' }])
  })

  it('raises it when tools fail often', () => {
    const { keeper, ended } = bench()
    for (const end of [WELL, WELL, { outcome: 'tool_error' } as const]) ended(end)
    expect(keeper.current.mode).toBe('NORMAL')
    ended({ outcome: 'failed', code: 'UPSTREAM_DIED' })
    expect(keeper.current.mode).toBe('DEGRADED')
  })

  it('does not when they ended well', () => {
    const { keeper, ended } = bench()
    for (let count = 0; count < 20; count++) ended(WELL)
    expect(keeper.current.mode).toBe('NORMAL')
  })

  it('raises it when their records cannot be written, and not once they can be', () => {
    const { keeper, ended, raw } = bench()
    raw.failures++
    ended(WELL)
    expect(keeper.current.mode).toBe('LOCKDOWN')
    const fine = bench()
    fine.ended(WELL)
    expect(fine.keeper.current.mode).toBe('NORMAL')
  })

  it('counts anew after a person has relaxed the mode', async () => {
    const { keeper, ended } = bench()
    await keeper.change({ to: 'ALERT', by: 'ann', via: 'cli' })
    ended(DENIED)
    await keeper.change({ to: 'NORMAL', by: 'ann', via: 'cli', why: 'seen' })
    ended(DENIED)
    expect(keeper.current.mode).toBe('NORMAL')
    ended(DENIED)
    expect(keeper.current.mode).toBe('ALERT')
  })
})
