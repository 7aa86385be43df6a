import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MODES, type Mode, SallyportError, type SallyportEvent } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { scratchFolder } from '../store/scratch.test-kit.ts'
import { type ModeChange, type ModeStateOptions, openModeState } from './mode-state.ts'

const NOW = '2026-05-01T10:00:00.000Z'
const ANN = { by: 'ann', via: 'cli' } as const

function bench(state = scratchFolder(), options: Partial<ModeStateOptions> = {}) {
  const events: SallyportEvent[] = []
  const troubles: string[] = []
  const changes: ModeChange[] = []
  const keeper = openModeState({
    state,
    now: () => new Date(NOW),
    record: async (event) => void events.push(event),
    onWarning: (text) => troubles.push(text),
    ...options,
  })
  keeper.onChange((change) => changes.push(change))
  return { state, path: join(state, 'mode.json'), keeper, events, troubles, changes }
}

/** Takes the place of the file, so that nothing can be written there. */
function block(path: string): () => void {
  rmSync(path, { force: true })
  mkdirSync(join(path, 'in-the-way'), { recursive: true })
  return () => rmSync(path, { recursive: true })
}

/** A promise that is kept when the test says so. */
function gate() {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

describe('the mode', () => {
  it('is NORMAL where nobody ever set one, and no file is made for that', () => {
    const { keeper, state, troubles } = bench()
    expect(keeper.current).toEqual({ mode: 'NORMAL', since: NOW, by: 'automatic', via: 'gateway', why: '' })
    expect([readdirSync(state), troubles, keeper.version]).toEqual([[], [], 0])
  })

  it('is kept with who set it and why, for its owner alone, and recorded', async () => {
    const { keeper, path, events, changes } = bench()
    expect(await keeper.change({ to: 'ALERT', ...ANN, why: 'odd calls' })).toBe('NORMAL')
    const record = { mode: 'ALERT', since: NOW, ...ANN, why: 'odd calls' }
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(record)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(keeper.current).toEqual(record)
    expect(events).toEqual([{ type: 'MODE_CHANGED', from: 'NORMAL', to: 'ALERT', ...ANN, why: 'odd calls' }])
    expect(changes).toEqual([{ from: 'NORMAL', to: 'ALERT' }])
    expect(keeper.problem).toBeUndefined()
  })

  it.each(MODES.filter((mode) => mode !== 'NORMAL'))('%s survives a restart', async (mode) => {
    const { keeper, state } = bench()
    await keeper.change({ to: mode, ...ANN, why: 'a reason' })
    expect(bench(state).keeper.current).toEqual(keeper.current)
  })

  it('that is in force already is no change', async () => {
    const { keeper, events, changes } = bench()
    await keeper.change({ to: 'ALERT', ...ANN })
    expect(await keeper.change({ to: 'ALERT', by: 'bob', via: 'api' })).toBe('ALERT')
    expect([keeper.current.by, keeper.version, events.length, changes.length]).toEqual(['ann', 1, 1, 1])
  })

  it('has a version that grows with each change', async () => {
    const { keeper } = bench()
    await keeper.change({ to: 'ALERT', ...ANN })
    await keeper.change({ to: 'NORMAL', ...ANN, why: 'over' })
    expect(keeper.version).toBe(2)
  })

  it('is no longer told to whoever stopped listening', async () => {
    const { keeper } = bench()
    const heard: ModeChange[] = []
    const stop = keeper.onChange((change) => heard.push(change))
    stop()
    await keeper.change({ to: 'ALERT', ...ANN })
    expect(heard).toEqual([])
  })
})

describe('a reason', () => {
  it.each([undefined, '', '  \t '])('is needed for what is less strict: %j is none', async (why) => {
    const { keeper, events } = bench()
    await keeper.change({ to: 'ALERT', ...ANN })
    await expect(keeper.change({ to: 'NORMAL', ...ANN, why })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      message: 'NORMAL is less strict than ALERT: that needs a reason.',
      hint: expect.stringContaining('--why'),
    })
    expect([keeper.current.mode, events.length]).toEqual(['ALERT', 1])
  })

  it('cannot act on a terminal, forge a line or grow without end', async () => {
    const { keeper } = bench()
    await keeper.change({ to: 'ALERT', ...ANN, why: `\u001b[31mred\n${'x'.repeat(1_000)}` })
    expect(keeper.current.why).toMatch(/^red\\u000ax+…$/)
    expect(keeper.current.why.length).toBeLessThan(310)
  })
})

it('what may not follow is refused, and nothing changes', async () => {
  const { keeper, path, events } = bench()
  await keeper.change({ to: 'LOCKDOWN', ...ANN })
  const before = readFileSync(path, 'utf8')
  await expect(keeper.change({ to: 'NORMAL', ...ANN, why: 'over' })).rejects.toMatchObject({ code: 'MODE_REFUSED' })
  expect([keeper.current.mode, readFileSync(path, 'utf8'), events.length]).toEqual(['LOCKDOWN', before, 1])
})

describe('the gateway by itself', () => {
  it('makes the mode stricter, and says that nobody did', async () => {
    const { keeper, events } = bench()
    await keeper.escalate({ to: 'ALERT', why: '30 calls broke the rules' })
    expect(keeper.current).toMatchObject({ mode: 'ALERT', by: 'automatic', via: 'escalation' })
    expect(events).toMatchObject([{ from: 'NORMAL', to: 'ALERT', by: 'automatic', why: '30 calls broke the rules' }])
  })

  it('never relaxes it, and is silent then', async () => {
    const { keeper, events } = bench()
    await keeper.change({ to: 'ALERT', ...ANN })
    for (const to of ['NORMAL', 'DEGRADED', 'ALERT'] satisfies Mode[]) await keeper.escalate({ to, why: 'errors' })
    expect([keeper.current.mode, keeper.version, events.length]).toEqual(['ALERT', 1, 1])
  })
})

describe('a file that cannot be understood', () => {
  const broken = {
    'is empty': '',
    'is cut off': '{"mode":"NORMAL","sin',
    'holds zeros': '\0'.repeat(100),
    'is a list': '["NORMAL"]',
    'names no mode': `{"mode":"normal","since":"${NOW}","by":"ann","via":"cli","why":""}`,
    'has no date': '{"mode":"NORMAL","since":"yesterday","by":"ann","via":"cli","why":""}',
    'has no person': `{"mode":"NORMAL","since":"${NOW}","via":"cli","why":""}`,
    'is too long': `{"mode":"NORMAL","since":"${NOW}","by":"ann","via":"cli","why":"${'x'.repeat(20_000)}"}`,
  }

  it.each(Object.entries(broken))('because it %s means LOCKDOWN, and says how to get out', async (_what, text) => {
    const state = scratchFolder()
    writeFileSync(join(state, 'mode.json'), text)
    const { keeper, troubles, path } = bench(state)
    expect(keeper.current).toMatchObject({ mode: 'LOCKDOWN', by: 'automatic' })
    expect(keeper.current.why).toContain(path)
    expect(troubles).toEqual([expect.stringContaining('sallyport mode RECOVERY')])
    expect(keeper.problem).toBe(troubles[0])
    expect(readFileSync(path, 'utf8'), 'what is left of it stays for whoever looks').toBe(text)

    await keeper.change({ to: 'RECOVERY', ...ANN, why: 'looked at it' })
    expect(keeper.problem).toBeUndefined()
    expect(bench(state).keeper.current).toMatchObject({ mode: 'RECOVERY', by: 'ann' })
  })

  it('because it is a folder means LOCKDOWN too', () => {
    const state = scratchFolder()
    mkdirSync(join(state, 'mode.json'))
    expect(bench(state).keeper.current.mode).toBe('LOCKDOWN')
  })
})

describe('a disk that refuses', () => {
  it('does not keep a stricter mode from being in force; it is told, and tried again', async () => {
    const { keeper, path, state, troubles } = bench(undefined, { pause: 5 })
    const unblock = block(path)
    await keeper.change({ to: 'LOCKDOWN', ...ANN, why: 'a key leaked' })
    expect(keeper.current.mode).toBe('LOCKDOWN')
    expect(keeper.problem).toMatch(/^LOCKDOWN is in force, but could not be kept: .*A restart would bring back/)
    await expect.poll(() => troubles.length).toBe(1)
    unblock()
    await expect.poll(() => keeper.problem).toBeUndefined()
    expect(bench(state).keeper.current).toMatchObject({ mode: 'LOCKDOWN', why: 'a key leaked' })
  })

  it('is tried again by whoever asks for the same mode, and at the end', async () => {
    const { keeper, path, state } = bench()
    let unblock = block(path)
    await keeper.change({ to: 'ALERT', ...ANN })
    unblock()
    await keeper.change({ to: 'ALERT', ...ANN })
    expect(keeper.problem).toBeUndefined()
    unblock = block(path)
    await keeper.change({ to: 'LOCKDOWN', ...ANN })
    unblock()
    await keeper.close()
    expect(bench(state).keeper.current.mode).toBe('LOCKDOWN')
  })

  it('keeps a laxer mode from being in force, and the log says that it never was', async () => {
    const { keeper, path, events } = bench()
    await keeper.change({ to: 'ALERT', ...ANN })
    const unblock = block(path)
    await expect(keeper.change({ to: 'NORMAL', ...ANN, why: 'over' })).rejects.toMatchObject({ code: 'STATE_UNUSABLE' })
    expect([keeper.current.mode, keeper.version]).toEqual(['ALERT', 1])
    unblock()
    await keeper.close()
    expect(events.slice(1)).toMatchObject([
      { from: 'ALERT', to: 'NORMAL', by: 'ann' },
      { from: 'NORMAL', to: 'ALERT', by: 'automatic', why: expect.stringContaining('could not be kept') },
    ])
  })
})

describe('a log that refuses', () => {
  const refusing = () => {
    const log = { refuses: true, events: [] as SallyportEvent[] }
    const record = async (event: SallyportEvent): Promise<void> => {
      if (log.refuses) throw new SallyportError('AUDIT_UNAVAILABLE', 'The disk is full.')
      log.events.push(event)
    }
    return { log, record }
  }

  it('keeps a laxer mode from being in force', async () => {
    const { log, record } = refusing()
    const { keeper, path } = bench(undefined, { record })
    log.refuses = false
    await keeper.change({ to: 'ALERT', ...ANN })
    log.refuses = true
    const kept = readFileSync(path, 'utf8')
    await expect(keeper.change({ to: 'NORMAL', ...ANN, why: 'over' })).rejects.toMatchObject({
      code: 'AUDIT_UNAVAILABLE',
    })
    expect([keeper.current.mode, readFileSync(path, 'utf8')]).toEqual(['ALERT', kept])
  })

  it('does not keep a stricter one from being in force and kept; the record follows, in order', async () => {
    const { log, record } = refusing()
    const { keeper, state } = bench(undefined, { record })
    await keeper.change({ to: 'ALERT', ...ANN })
    await keeper.change({ to: 'LOCKDOWN', ...ANN })
    expect(keeper.problem).toContain('could not be recorded')
    expect(bench(state).keeper.current.mode).toBe('LOCKDOWN')
    log.refuses = false
    await keeper.change({ to: 'RECOVERY', ...ANN, why: 'there is room again' })
    expect(log.events).toMatchObject([{ to: 'ALERT' }, { to: 'LOCKDOWN' }, { from: 'LOCKDOWN', to: 'RECOVERY' }])
    expect(keeper.problem).toBeUndefined()
  })
})

describe('changes at the same time', () => {
  it('follow one another, each judged by what the one before left', async () => {
    const { keeper, state, events } = bench()
    await keeper.change({ to: 'LOCKDOWN', ...ANN })
    const outcomes = await Promise.allSettled([
      keeper.change({ to: 'RECOVERY', ...ANN, why: 'one' }),
      keeper.change({ to: 'RECOVERY', ...ANN, why: 'two' }),
      keeper.change({ to: 'NORMAL', ...ANN, why: 'three' }),
    ])
    expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'refused'))).toEqual([
      'LOCKDOWN',
      'RECOVERY',
      'RECOVERY',
    ])
    expect(events.map((event) => 'to' in event && event.to)).toEqual(['LOCKDOWN', 'RECOVERY', 'NORMAL'])
    expect(bench(state).keeper.current).toMatchObject({ mode: 'NORMAL', why: 'three' })
  })

  it('never let a panic wait, nor be undone by a relaxation that was under way', async () => {
    const [asked, recording] = [gate(), gate()]
    const { keeper, state } = bench(undefined, {
      record: async (event) => {
        if (!('to' in event) || event.to !== 'NORMAL') return
        asked.open()
        await recording.opened
      },
    })
    await keeper.change({ to: 'RECOVERY', ...ANN })
    const relaxing = keeper.change({ to: 'NORMAL', ...ANN, why: 'over' })
    await asked.opened
    const panicking = keeper.change({ to: 'LOCKDOWN', ...ANN })
    expect(keeper.current.mode, 'at once').toBe('LOCKDOWN')
    recording.open()
    await expect(relaxing).rejects.toMatchObject({
      code: 'MODE_REFUSED',
      message: 'NORMAL was overtaken: ann has set LOCKDOWN meanwhile.',
    })
    await panicking
    expect(bench(state).keeper.current.mode).toBe('LOCKDOWN')
  })

  it('never let a wish undo a panic that it could not know of', async () => {
    const { keeper } = bench()
    await keeper.change({ to: 'RECOVERY', ...ANN })
    const stay = keeper.change({ to: 'RECOVERY', ...ANN, why: 'as it is' })
    const panicking = keeper.change({ to: 'LOCKDOWN', ...ANN })
    await expect(stay).rejects.toMatchObject({ code: 'MODE_REFUSED' })
    await panicking
    expect(keeper.current.mode).toBe('LOCKDOWN')
  })

  it('end with the stricter mode kept, whenever the panic comes', async () => {
    for (let turns = 0; turns < 40; turns++) {
      const { keeper, state } = bench()
      await keeper.change({ to: 'ALERT', ...ANN })
      const relaxing = keeper.change({ to: 'NORMAL', ...ANN, why: 'over' }).catch(() => undefined)
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
      await keeper.change({ to: 'LOCKDOWN', ...ANN })
      await relaxing
      expect([keeper.current.mode, bench(state).keeper.current.mode]).toEqual(['LOCKDOWN', 'LOCKDOWN'])
    }
  })
})
