import type { Principal } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { CallGauge } from './limits-step.ts'
import { ToolLimits } from './tool-limits.ts'

const ANN: Principal = { user: 'ann', agent: 'any', profile: 'default', session: 's', role: 'agent' }
const BOB: Principal = { ...ANN, user: 'bob' }

describe('the calls under way', () => {
  it('of one caller leave room for another, whatever he does', () => {
    const gauge = new CallGauge(() => 8)
    for (let index = 0; index < 6; index++) gauge.enter(BOB)
    expect(gauge.refusal(BOB)).toContain('6 calls of this session')
    expect(gauge.refusal(ANN)).toBeUndefined()
    gauge.leave(BOB)
    expect(gauge.refusal(BOB)).toBeUndefined()
  })

  it('are limited for all together, and the limit may change', () => {
    let most = 2
    const gauge = new CallGauge(() => most)
    gauge.enter(ANN)
    gauge.enter(BOB)
    expect(gauge.refusal({ ...ANN, user: 'eve' })).toContain('2 calls are under way')
    most = 4
    expect(gauge.refusal({ ...ANN, user: 'eve' })).toBeUndefined()
    gauge.leave(ANN)
    gauge.leave(BOB)
    expect(gauge.inFlight).toBe(0)
  })
})

describe('the limits of a tool', () => {
  it('count no call that began before there were any', () => {
    const limits = new ToolLimits(() => 0)
    const unlimited = { rateLimitPerMinute: undefined, maxConcurrent: undefined }
    const single = { ...unlimited, maxConcurrent: { value: 1, reason: 'as written' } }
    limits.enter('query', unlimited)
    limits.enter('query', single)
    limits.leave('query', unlimited)
    expect(limits.refusal('query', single)?.reason).toContain('1 calls of query are under way')
    limits.leave('query', single)
    expect(limits.refusal('query', single)).toBeUndefined()
  })
})
