import type { Principal, SallyportEvent, Sensitivity } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import type { StoredLabel } from '../../store/store.ts'
import { type LabelRaise, SessionLabels } from './session-labels.ts'

const caller = (session: string): Principal => ({
  user: 'ann',
  agent: 'any',
  profile: 'default',
  session,
  role: 'agent',
})
const raise = (sensitivity: Sensitivity, name = 'salaries'): LabelRaise => ({
  datasets: [{ name, sensitivity }],
  reason: 'a test',
})

function open(maxSessions?: number) {
  const stored = new Map<string, StoredLabel['datasets'][number][]>()
  const events: SallyportEvent[] = []
  const loads: string[] = []
  const labels = new SessionLabels({
    records: {
      load: async ({ session }) => {
        loads.push(session)
        return { datasets: stored.get(session) ?? [] }
      },
      raise: async ({ session }, dataset) => void stored.set(session, [...(stored.get(session) ?? []), dataset]),
      settle: async () => {},
      list: () => [],
      remember: () => {},
    },
    record: async (event) => void events.push(event),
    onWarning: () => {},
    ...(maxSessions !== undefined && { maxSessions }),
  })
  return { labels, stored, events, loads }
}

describe(`the label of a session (${promise('SEN-1')})`, () => {
  it('is read once for all its callers, and rises for all of them at once', async () => {
    const { labels, loads } = open()
    const [first, second] = await Promise.all([labels.load(caller('a')), labels.load(caller('a'))])
    expect(loads).toEqual(['a'])
    void labels.raise(first, raise('SECRET'))
    expect(second.current.sensitivity).toBe('SECRET')
    expect(labels.labelOf(caller('a')).sensitivity).toBe('SECRET')
    expect(labels.labelOf(caller('b')).sensitivity).toBe('SECRET')
    expect((await labels.load(caller('b'))).current.sensitivity).toBe('PUBLIC')
  })

  it('is never lowered, and recorded only when it rises', async () => {
    const { labels, events } = open()
    const session = await labels.load(caller('a'))
    for (const level of ['CONFIDENTIAL', 'INTERNAL', 'CONFIDENTIAL', 'SECRET', 'PUBLIC'] as const) {
      const before = session.current.sensitivity
      await labels.raise(session, raise(level))
      expect(['CONFIDENTIAL', 'SECRET']).toContain(session.current.sensitivity)
      expect(session.current.sensitivity === 'CONFIDENTIAL' && before === 'SECRET').toBe(false)
    }
    expect(events.map((event) => 'to' in event && event.to)).toEqual(['CONFIDENTIAL', 'SECRET'])
  })

  it('is one object for whoever still holds it, however many others have called since', async () => {
    const { labels, loads } = open(2)
    const held = await labels.load(caller('held'))
    for (const other of ['a', 'b', 'c', 'd']) await labels.load(caller(other))
    expect(labels.find(caller('held'))).toBe(held)
    await labels.raise(held, raise('SECRET'))
    expect((await labels.load(caller('held'))).current.sensitivity).toBe('SECRET')
    expect(loads.filter((session) => session === 'held')).toHaveLength(1)
  })

  it('stays bounded, whatever a server names', async () => {
    const { labels } = open()
    const session = await labels.load(caller('a'))
    for (let index = 0; index < 600; index++) await labels.raise(session, raise('INTERNAL', `dataset ${index}`))
    await labels.raise(session, raise('SECRET', 'one more'))
    expect(session.current.datasets.length).toBeLessThanOrEqual(501)
    expect(session.current.sensitivity).toBe('SECRET')
  })

  it('lets a session take a limited number of values that its sub-agents read', async () => {
    const { labels } = open()
    const [session, other] = [await labels.load(caller('a')), await labels.load(caller('b'))]
    const taken = Array.from({ length: 7 }, () => labels.mayTakeNarrowValues(session, 20))
    expect(taken).toEqual([true, true, true, true, true, false, false])
    expect(labels.mayTakeNarrowValues(other, 20)).toBe(true)
  })

  it(`of a sub-agent is at least that of its session, and ends with it (${promise('SEN-6')})`, async () => {
    const { labels, stored } = open()
    const session = await labels.load(caller('a'))
    const child = labels.createChild(session, caller('a'), 'c1')
    await labels.raise(child, raise('SECRET'))
    expect([child.current.sensitivity, session.current.sensitivity]).toEqual(['SECRET', 'PUBLIC'])
    expect(labels.labelOf(child.principal).sensitivity).toBe('SECRET')
    const other = labels.createChild(session, caller('a'), 'c2')
    await labels.raise(session, raise('CONFIDENTIAL', 'more'))
    expect(other.current.sensitivity).toBe('CONFIDENTIAL')
    expect(stored.get('a')).toEqual([{ name: 'more', sensitivity: 'CONFIDENTIAL' }])
  })
})
