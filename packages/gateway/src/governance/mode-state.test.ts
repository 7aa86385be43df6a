import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MODES, type Mode, SallyportError, type SallyportEvent } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { scratchFolder } from '../store/scratch.test-kit.ts'
import { type ModeChange, type ModeStateOptions, openModeState } from './mode-state.ts'

const NOW = '2026-05-01T10:00:00.000Z'
const ANN = { by: 'ann', via: 'cli' } as const

function openTestState(state = scratchFolder(), options: Partial<ModeStateOptions> = {}) {
  const events: SallyportEvent[] = []
  const warnings: string[] = []
  const changes: ModeChange[] = []
  const modeState = openModeState({
    state,
    now: () => new Date(NOW),
    record: async (event) => void events.push(event),
    onWarning: (text) => warnings.push(text),
    ...options,
  })
  modeState.onChange((change) => changes.push(change))
  return { state, path: join(state, 'mode.json'), modeState, events, warnings, changes }
}

/** Puts a folder at the path of the file, so that it cannot be written. */
function block(path: string): () => void {
  rmSync(path, { force: true })
  mkdirSync(join(path, 'in-the-way'), { recursive: true })
  return () => rmSync(path, { recursive: true })
}

/** A promise that the test resolves. */
function gate() {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

describe('the mode', () => {
  it('is NORMAL if nobody ever set one, and no file is created for that', () => {
    const { modeState, state, warnings } = openTestState()
    expect(modeState.current).toEqual({ mode: 'NORMAL', since: NOW, by: 'automatic', via: 'gateway', why: '' })
    expect([readdirSync(state), warnings, modeState.version]).toEqual([[], [], 0])
  })

  it('is stored with who set it and why, for its owner only, and recorded', async () => {
    const { modeState, path, events, changes } = openTestState()
    expect(await modeState.change({ to: 'ALERT', ...ANN, why: 'unusual calls' })).toBe('NORMAL')
    const record = { mode: 'ALERT', since: NOW, ...ANN, why: 'unusual calls' }
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(record)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(modeState.current).toEqual(record)
    expect(events).toEqual([{ type: 'MODE_CHANGED', from: 'NORMAL', to: 'ALERT', ...ANN, why: 'unusual calls' }])
    expect(changes).toEqual([{ from: 'NORMAL', to: 'ALERT' }])
    expect(modeState.problem).toBeUndefined()
  })

  it.each(MODES.filter((mode) => mode !== 'NORMAL'))('%s survives a restart', async (mode) => {
    const { modeState, state } = openTestState()
    await modeState.change({ to: mode, ...ANN, why: 'a reason' })
    expect(openTestState(state).modeState.current).toEqual(modeState.current)
  })

  it('that is already in force is not a change', async () => {
    const { modeState, events, changes } = openTestState()
    await modeState.change({ to: 'ALERT', ...ANN })
    expect(await modeState.change({ to: 'ALERT', by: 'bob', via: 'api' })).toBe('ALERT')
    expect([modeState.current.by, modeState.version, events.length, changes.length]).toEqual(['ann', 1, 1, 1])
  })

  it('has a version that increases with each change', async () => {
    const { modeState } = openTestState()
    await modeState.change({ to: 'ALERT', ...ANN })
    await modeState.change({ to: 'NORMAL', ...ANN, why: 'over' })
    expect(modeState.version).toBe(2)
  })

  it('is not reported to a listener that unsubscribed', async () => {
    const { modeState } = openTestState()
    const changes: ModeChange[] = []
    const stop = modeState.onChange((change) => changes.push(change))
    stop()
    await modeState.change({ to: 'ALERT', ...ANN })
    expect(changes).toEqual([])
  })
})

describe('a reason', () => {
  it.each([undefined, '', '  \t '])('is needed for a less strict mode: %j is not a reason', async (why) => {
    const { modeState, events } = openTestState()
    await modeState.change({ to: 'ALERT', ...ANN })
    await expect(modeState.change({ to: 'NORMAL', ...ANN, why })).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      message: 'NORMAL is less strict than ALERT: that needs a reason.',
      hint: expect.stringContaining('--why'),
    })
    expect([modeState.current.mode, events.length]).toEqual(['ALERT', 1])
  })

  it('cannot contain control characters or line breaks, and has a limited length', async () => {
    const { modeState } = openTestState()
    await modeState.change({ to: 'ALERT', ...ANN, why: `\u001b[31mred\n${'x'.repeat(1_000)}` })
    expect(modeState.current.why).toMatch(/^red\\u000ax+…$/)
    expect(modeState.current.why.length).toBeLessThan(310)
  })
})

it('a transition that is not allowed is refused, and nothing changes', async () => {
  const { modeState, path, events } = openTestState()
  await modeState.change({ to: 'LOCKDOWN', ...ANN })
  const before = readFileSync(path, 'utf8')
  await expect(modeState.change({ to: 'NORMAL', ...ANN, why: 'over' })).rejects.toMatchObject({ code: 'MODE_REFUSED' })
  expect([modeState.current.mode, readFileSync(path, 'utf8'), events.length]).toEqual(['LOCKDOWN', before, 1])
})

describe('the gateway by itself', () => {
  it('makes the mode stricter, and records that it was automatic', async () => {
    const { modeState, events } = openTestState()
    await modeState.escalate({ to: 'ALERT', why: '30 calls broke the rules' })
    expect(modeState.current).toMatchObject({ mode: 'ALERT', by: 'automatic', via: 'escalation' })
    expect(events).toMatchObject([{ from: 'NORMAL', to: 'ALERT', by: 'automatic', why: '30 calls broke the rules' }])
  })

  it('never relaxes it, and reports nothing', async () => {
    const { modeState, events } = openTestState()
    await modeState.change({ to: 'ALERT', ...ANN })
    for (const to of ['NORMAL', 'DEGRADED', 'ALERT'] satisfies Mode[]) await modeState.escalate({ to, why: 'errors' })
    expect([modeState.current.mode, modeState.version, events.length]).toEqual(['ALERT', 1, 1])
  })
})

describe('a mode.json that is not valid', () => {
  const broken = {
    'is empty': '',
    'is cut off': '{"mode":"NORMAL","sin',
    'contains zeros': '\0'.repeat(100),
    'is a list': '["NORMAL"]',
    'has no known mode': `{"mode":"normal","since":"${NOW}","by":"ann","via":"cli","why":""}`,
    'has no date': '{"mode":"NORMAL","since":"yesterday","by":"ann","via":"cli","why":""}',
    'has no person': `{"mode":"NORMAL","since":"${NOW}","via":"cli","why":""}`,
    'is too long': `{"mode":"NORMAL","since":"${NOW}","by":"ann","via":"cli","why":"${'x'.repeat(20_000)}"}`,
  }

  it.each(Object.entries(broken))('because it %s means LOCKDOWN, with a hint how to leave it', async (_what, text) => {
    const state = scratchFolder()
    writeFileSync(join(state, 'mode.json'), text)
    const { modeState, warnings, path } = openTestState(state)
    expect(modeState.current).toMatchObject({ mode: 'LOCKDOWN', by: 'automatic' })
    expect(modeState.current.why).toContain(path)
    expect(warnings).toEqual([expect.stringContaining('sallyport mode RECOVERY')])
    expect(modeState.problem).toBe(warnings[0])
    expect(readFileSync(path, 'utf8'), 'the damaged file is preserved for inspection').toBe(text)

    await modeState.change({ to: 'RECOVERY', ...ANN, why: 'checked it' })
    expect(modeState.problem).toBeUndefined()
    expect(openTestState(state).modeState.current).toMatchObject({ mode: 'RECOVERY', by: 'ann' })
  })

  it('because it is a folder means LOCKDOWN too', () => {
    const state = scratchFolder()
    mkdirSync(join(state, 'mode.json'))
    expect(openTestState(state).modeState.current.mode).toBe('LOCKDOWN')
  })
})

describe('a disk that cannot be written', () => {
  it('does not prevent a stricter mode; the problem is reported, and the write is retried', async () => {
    const { modeState, path, state, warnings } = openTestState(undefined, { pause: 5 })
    const unblock = block(path)
    await modeState.change({ to: 'LOCKDOWN', ...ANN, why: 'a key leaked' })
    expect(modeState.current.mode).toBe('LOCKDOWN')
    expect(modeState.problem).toMatch(/^LOCKDOWN is in force, but could not be stored: .*A restart would return to/)
    await expect.poll(() => warnings.length).toBe(1)
    unblock()
    await expect.poll(() => modeState.problem).toBeUndefined()
    expect(openTestState(state).modeState.current).toMatchObject({ mode: 'LOCKDOWN', why: 'a key leaked' })
  })

  it('is tried again if the same mode is requested, and on close', async () => {
    const { modeState, path, state } = openTestState()
    let unblock = block(path)
    await modeState.change({ to: 'ALERT', ...ANN })
    unblock()
    await modeState.change({ to: 'ALERT', ...ANN })
    expect(modeState.problem).toBeUndefined()
    unblock = block(path)
    await modeState.change({ to: 'LOCKDOWN', ...ANN })
    unblock()
    await modeState.close()
    expect(openTestState(state).modeState.current.mode).toBe('LOCKDOWN')
  })

  it('prevents a less strict mode, and the log shows that it never was in force', async () => {
    const { modeState, path, events } = openTestState()
    await modeState.change({ to: 'ALERT', ...ANN })
    const unblock = block(path)
    await expect(modeState.change({ to: 'NORMAL', ...ANN, why: 'over' })).rejects.toMatchObject({
      code: 'STATE_UNUSABLE',
    })
    expect([modeState.current.mode, modeState.version]).toEqual(['ALERT', 1])
    unblock()
    await modeState.close()
    expect(events.slice(1)).toMatchObject([
      { from: 'ALERT', to: 'NORMAL', by: 'ann' },
      { from: 'NORMAL', to: 'ALERT', by: 'automatic', why: expect.stringContaining('could not be stored') },
    ])
  })
})

describe('a log that cannot be written', () => {
  const refusing = () => {
    const log = { refuses: true, events: [] as SallyportEvent[] }
    const record = async (event: SallyportEvent): Promise<void> => {
      if (log.refuses) throw new SallyportError('AUDIT_UNAVAILABLE', 'The disk is full.')
      log.events.push(event)
    }
    return { log, record }
  }

  it('prevents a less strict mode', async () => {
    const { log, record } = refusing()
    const { modeState, path } = openTestState(undefined, { record })
    log.refuses = false
    await modeState.change({ to: 'ALERT', ...ANN })
    log.refuses = true
    const before = readFileSync(path, 'utf8')
    await expect(modeState.change({ to: 'NORMAL', ...ANN, why: 'over' })).rejects.toMatchObject({
      code: 'AUDIT_UNAVAILABLE',
    })
    expect([modeState.current.mode, readFileSync(path, 'utf8')]).toEqual(['ALERT', before])
  })

  it('does not prevent a stricter mode, which is also stored; the records follow in order', async () => {
    const { log, record } = refusing()
    const { modeState, state } = openTestState(undefined, { record })
    await modeState.change({ to: 'ALERT', ...ANN })
    await modeState.change({ to: 'LOCKDOWN', ...ANN })
    expect(modeState.problem).toContain('could not be recorded')
    expect(openTestState(state).modeState.current.mode).toBe('LOCKDOWN')
    log.refuses = false
    await modeState.change({ to: 'RECOVERY', ...ANN, why: 'there is room again' })
    expect(log.events).toMatchObject([{ to: 'ALERT' }, { to: 'LOCKDOWN' }, { from: 'LOCKDOWN', to: 'RECOVERY' }])
    expect(modeState.problem).toBeUndefined()
  })
})

describe('changes at the same time', () => {
  it('are applied one after the other, each checked against the mode before it', async () => {
    const { modeState, state, events } = openTestState()
    await modeState.change({ to: 'LOCKDOWN', ...ANN })
    const outcomes = await Promise.allSettled([
      modeState.change({ to: 'RECOVERY', ...ANN, why: 'one' }),
      modeState.change({ to: 'RECOVERY', ...ANN, why: 'two' }),
      modeState.change({ to: 'NORMAL', ...ANN, why: 'three' }),
    ])
    expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'refused'))).toEqual([
      'LOCKDOWN',
      'RECOVERY',
      'RECOVERY',
    ])
    expect(events.map((event) => 'to' in event && event.to)).toEqual(['LOCKDOWN', 'RECOVERY', 'NORMAL'])
    expect(openTestState(state).modeState.current).toMatchObject({ mode: 'NORMAL', why: 'three' })
  })

  it('never delay a panic, and a pending relaxation never undoes it', async () => {
    const [asked, recording] = [gate(), gate()]
    const { modeState, state } = openTestState(undefined, {
      record: async (event) => {
        if (!('to' in event) || event.to !== 'NORMAL') return
        asked.open()
        await recording.opened
      },
    })
    await modeState.change({ to: 'RECOVERY', ...ANN })
    const relaxing = modeState.change({ to: 'NORMAL', ...ANN, why: 'over' })
    await asked.opened
    const panicking = modeState.change({ to: 'LOCKDOWN', ...ANN })
    expect(modeState.current.mode, 'at once').toBe('LOCKDOWN')
    recording.open()
    await expect(relaxing).rejects.toMatchObject({
      code: 'MODE_REFUSED',
      message: 'The mode is not changed to NORMAL: ann has set LOCKDOWN in the meantime.',
    })
    await panicking
    expect(openTestState(state).modeState.current.mode).toBe('LOCKDOWN')
  })

  it('never let a request undo a panic that came after it', async () => {
    const { modeState } = openTestState()
    await modeState.change({ to: 'RECOVERY', ...ANN })
    const stay = modeState.change({ to: 'RECOVERY', ...ANN, why: 'as it is' })
    const panicking = modeState.change({ to: 'LOCKDOWN', ...ANN })
    await expect(stay).rejects.toMatchObject({ code: 'MODE_REFUSED' })
    await panicking
    expect(modeState.current.mode).toBe('LOCKDOWN')
  })

  it('end with the stricter mode stored, whenever the panic comes', async () => {
    for (let turns = 0; turns < 40; turns++) {
      const { modeState, state } = openTestState()
      await modeState.change({ to: 'ALERT', ...ANN })
      const relaxing = modeState.change({ to: 'NORMAL', ...ANN, why: 'over' }).catch(() => undefined)
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
      await modeState.change({ to: 'LOCKDOWN', ...ANN })
      await relaxing
      expect([modeState.current.mode, openTestState(state).modeState.current.mode]).toEqual(['LOCKDOWN', 'LOCKDOWN'])
    }
  })
})
