import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { GATEWAY_PERMIT } from '../permit.ts'
import { GivenUpCalls } from './given-up-calls.ts'
import type { OutgoingCall } from './outgoing-call.ts'

function callOf(conversation: string | undefined, more: Partial<OutgoingCall> = {}): OutgoingCall {
  const client = { conversation } as OutgoingCall['client']
  return { method: 'tools/call', params: {}, name: 'x', session: 's', permit: GATEWAY_PERMIT, client, ...more }
}

describe('a message on a shared pipe', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('belongs to the only call, whoever made it', () => {
    expect(new GivenUpCalls().haveOneSenderWith([callOf(undefined)])).toBe(true)
  })

  it('belongs to the conversation that made all calls, those given up included', () => {
    const calls = new GivenUpCalls()
    calls.add(callOf('a'))
    expect(calls.haveOneSenderWith([callOf('a'), callOf('a')])).toBe(true)
    expect(calls.haveOneSenderWith([callOf('b')])).toBe(false)
    expect(calls.haveOneSenderWith([callOf('a', { session: 't' })])).toBe(false)
  })

  it('belongs to nobody if calls without a conversation may be meant', () => {
    const calls = new GivenUpCalls()
    expect(calls.haveOneSenderWith([callOf(undefined), callOf(undefined)])).toBe(false)
    calls.add(callOf(undefined))
    expect(calls.haveOneSenderWith([callOf(undefined)])).toBe(false)
  })

  it('belongs to nobody if the calls are treated differently', () => {
    const calls = new GivenUpCalls()
    calls.add(callOf('a', { isQuarantined: true }))
    expect(calls.haveOneSenderWith([callOf('a')])).toBe(false)
    expect(new GivenUpCalls().haveOneSenderWith([callOf('a'), callOf('a', { mayTellSecrets: true })])).toBe(false)
  })

  it('is not about a call that was given up a minute ago', () => {
    const calls = new GivenUpCalls()
    calls.add(callOf('a'))
    vi.advanceTimersByTime(59_000)
    expect(calls.haveOneSenderWith([callOf('b')])).toBe(false)
    vi.advanceTimersByTime(1_000)
    expect(calls.haveOneSenderWith([callOf('b')])).toBe(true)
  })
})
