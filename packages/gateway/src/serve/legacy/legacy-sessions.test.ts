import { Cancellation, type Principal, SallyportError } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { ChangeHub } from '../rpc/change-hub.ts'
import { LegacySessions } from './legacy-sessions.ts'

const ANN: Principal = { user: 'ann', agent: 'any', profile: 'default', session: 's', role: 'agent' }
const OPENING = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} }

function openSessions(maxSessions = 3) {
  const hub = new ChangeHub()
  const clock = { now: 0 }
  const sessions = new LegacySessions({ hub, maxSessions: () => maxSessions, now: () => clock.now, onEnd: () => {} })
  return { hub, clock, sessions }
}

describe('legacy sessions', () => {
  it('are found only by the caller that opened them', () => {
    const { sessions } = openSessions()
    const session = sessions.open(ANN, OPENING)
    expect(sessions.find(session.id, { ...ANN })).toBe(session)
    for (const change of [
      { user: 'bob' },
      { agent: 'x' },
      { profile: 'x' },
      { session: 'x' },
      { role: 'operator' as const },
    ]) {
      expect(sessions.find(session.id, { ...ANN, ...change })).toBeUndefined()
    }
    expect(sessions.find('__proto__', ANN)).toBeUndefined()
  })

  it('cancel their requests in flight when they end, and get no more notifications', () => {
    const { hub, sessions } = openSessions()
    const session = sessions.open(ANN, OPENING)
    const cancellation = new Cancellation()
    session.inFlight.set(1, cancellation)
    expect(hub.size).toBe(1)
    sessions.end(session, 'over')
    sessions.end(session, 'again')
    expect(cancellation.reason).toBe('over')
    expect([hub.size, sessions.size]).toEqual([0, 0])
    expect(sessions.find(session.id, ANN)).toBeUndefined()
  })

  it('are ended for new ones, the least recently used first', () => {
    const { clock, sessions } = openSessions()
    const [first, second] = [sessions.open(ANN, OPENING), sessions.open(ANN, OPENING)]
    sessions.open(ANN, OPENING)
    clock.now = 1_000
    sessions.find(first.id, ANN)
    sessions.open(ANN, OPENING)
    expect(sessions.size).toBe(3)
    expect(sessions.find(first.id, ANN)).toBe(first)
    expect(sessions.find(second.id, ANN)).toBeUndefined()
  })

  it('of one caller are not displaced by another that opens many', () => {
    const { clock, sessions } = openSessions(4)
    const bob = { ...ANN, user: 'bob' }
    const own = sessions.open(ANN, OPENING)
    for (let index = 0; index < 20; index++) {
      clock.now++
      sessions.open(bob, OPENING)
    }
    expect(sessions.size).toBe(4)
    expect(sessions.find(own.id, ANN)).toBe(own)
  })

  it('that were idle for an hour are all ended when the limit is reached', () => {
    const { clock, sessions, hub } = openSessions()
    for (let index = 0; index < 3; index++) sessions.open(ANN, OPENING)
    clock.now = 3_600_001
    sessions.open(ANN, OPENING)
    expect([sessions.size, hub.size]).toEqual([1, 1])
  })

  it('that are busy stay, and a new one is refused', () => {
    const { sessions } = openSessions(1)
    const session = sessions.open(ANN, OPENING)
    session.inFlight.set(1, new Cancellation())
    expect(() => sessions.open(ANN, OPENING)).toThrow(SallyportError)
    expect(sessions.find(session.id, ANN)).toBe(session)
    session.inFlight.delete(1)
    expect(sessions.open(ANN, OPENING)).not.toBe(session)
  })

  it('are reduced to a lowered limit when a new one is opened', () => {
    const clock = { now: 0, maxSessions: 5 }
    const hub = new ChangeHub()
    const sessions = new LegacySessions({
      hub,
      maxSessions: () => clock.maxSessions,
      now: () => clock.now,
      onEnd: () => {},
    })
    for (; clock.now < 5; clock.now++) sessions.open(ANN, OPENING)
    clock.maxSessions = 2
    clock.now = 3_600_001
    const last = sessions.open(ANN, OPENING)
    expect([sessions.size, hub.size]).toEqual([2, 2])
    expect(sessions.find(last.id, ANN)).toBe(last)
  })

  it('all end together', () => {
    const { hub, sessions } = openSessions()
    for (let index = 0; index < 3; index++) sessions.open(ANN, OPENING)
    sessions.endAll('the gateway stops')
    expect([sessions.size, hub.size]).toEqual([0, 0])
  })
})
