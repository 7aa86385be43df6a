import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { type DeathRecord, NO_DEATHS, DEFAULT_RESTART_POLICY as POLICY, planRestart } from './restart-policy.ts'

const limitsOf = (deaths: readonly number[]): readonly number[] => {
  let record: DeathRecord = NO_DEATHS
  return deaths.map((at) => {
    const plan = planRestart(record, { at, healthyFor: 0, random: 0.999_999_999 }, POLICY)
    record = plan.record
    return plan.delay + 1
  })
}

describe(`the restart delay of a dead server (${promise('GW-4')})`, () => {
  it('doubles from half a second up to half a minute', () => {
    const apart = Array.from({ length: 9 }, (_, index) => index * POLICY.circuitWindow)
    expect(limitsOf(apart)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  })

  it('is random below that limit', () => {
    fc.assert(
      fc.property(fc.nat(20), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (attempt, random) => {
        const { delay } = planRestart({ attempt, deaths: [] }, { at: 0, healthyFor: 0, random }, POLICY)
        const limit = Math.min(30_000, 500 * 2 ** attempt)
        expect(delay).toBe(Math.floor(limit * random))
      }),
    )
  })

  it('starts over after a healthy minute', () => {
    const before = { attempt: 5, deaths: [] }
    const plan = (healthyFor: number) => planRestart(before, { at: 0, healthyFor, random: 0.5 }, POLICY)
    expect(plan(60_000)).toMatchObject({ delay: 250, record: { attempt: 1 } })
    expect(plan(59_999)).toMatchObject({ delay: 8_000, record: { attempt: 6 } })
  })

  it('allows only single attempts after six crashes in five minutes', () => {
    let record: DeathRecord = NO_DEATHS
    const states = [0, 1, 2, 3, 4, 5].map((at) => {
      const plan = planRestart(record, { at, healthyFor: 0, random: 0.5 }, POLICY)
      record = plan.record
      return [plan.state, plan.delay > 0]
    })
    expect(states.slice(0, 5).every(([state]) => state === 'restarting')).toBe(true)
    expect(planRestart(record, { at: 30_005, healthyFor: 0, random: 0.1 }, POLICY)).toMatchObject({
      state: 'broken',
      delay: 30_000,
    })
    expect(planRestart(record, { at: 300_006, healthyFor: 70_000, random: 0.5 }, POLICY).state).toBe('restarting')
  })

  it('remembers only the crashes within its window', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(100_000), { maxLength: 50 }), (gaps) => {
        let record: DeathRecord = NO_DEATHS
        let at = 0
        for (const gap of gaps) {
          at += gap
          record = planRestart(record, { at, healthyFor: 0, random: 0 }, POLICY).record
          expect(record.deaths.every((time) => at - time < POLICY.circuitWindow)).toBe(true)
        }
      }),
    )
  })
})
