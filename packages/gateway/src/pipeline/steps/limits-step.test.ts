import type { Principal } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { CallGauge } from './limits-step.ts'
import { ToolLimits } from './tool-limits.ts'

const ANN: Principal = { user: 'ann', agent: 'any', profile: 'default', session: 's', role: 'agent' }
const BOB: Principal = { ...ANN, user: 'bob' }

describe('the calls in flight', () => {
  it('of one caller always leave room for another caller', () => {
    const gauge = new CallGauge(() => 8)
    for (let index = 0; index < 6; index++) gauge.enter(BOB)
    expect(gauge.refusal(BOB)).toContain('6 calls of this session')
    expect(gauge.refusal(ANN)).toBeUndefined()
    gauge.leave(BOB)
    expect(gauge.refusal(BOB)).toBeUndefined()
  })

  it('are limited in total, and the limit may change', () => {
    let max = 2
    const gauge = new CallGauge(() => max)
    gauge.enter(ANN)
    gauge.enter(BOB)
    expect(gauge.refusal({ ...ANN, user: 'eve' })).toContain('2 calls are in flight')
    max = 4
    expect(gauge.refusal({ ...ANN, user: 'eve' })).toBeUndefined()
    gauge.leave(ANN)
    gauge.leave(BOB)
    expect(gauge.inFlight).toBe(0)
  })
})

describe('the limits of a tool', () => {
  it('do not count calls that started before there were limits', () => {
    const limits = new ToolLimits(() => 0)
    const unlimited = { rateLimitPerMinute: undefined, maxConcurrent: undefined }
    const single = { ...unlimited, maxConcurrent: { value: 1, reason: 'as written' } }
    limits.enter('query', unlimited)
    limits.enter('query', single)
    limits.leave('query', unlimited)
    expect(limits.refusal('query', single)?.reason).toContain('1 calls of query are in flight')
    limits.leave('query', single)
    expect(limits.refusal('query', single)).toBeUndefined()
  })
})
