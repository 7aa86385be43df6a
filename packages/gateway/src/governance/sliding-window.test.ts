import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SlidingWindow } from './sliding-window.ts'

describe('a sliding window', () => {
  it('counts events up to its own length, and none that is older by one bucket', () => {
    const window = new SlidingWindow(600)
    window.add(5)
    expect(window.total(605)).toBe(1)
    expect(window.total(609.9)).toBe(1)
    expect(window.total(610)).toBe(0)
  })

  it('drops old events gradually, not all at once', () => {
    const window = new SlidingWindow(600)
    for (let at = 0; at < 600; at += 10) window.add(at)
    expect([599, 609, 610, 619, 620, 909, 1_200].map((at) => window.total(at))).toEqual([60, 60, 59, 59, 58, 30, 0])
  })

  it('is empty after it is cleared, or after a long time without events', () => {
    const window = new SlidingWindow(600)
    window.add(1)
    window.clear()
    expect(window.total(1)).toBe(0)
    window.add(2)
    expect(window.total(1e12)).toBe(0)
    expect(window.add(1e12)).toBe(1)
  })

  it('always counts every event within it, and never one that is older by more than a sixtieth', () => {
    const pauses = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 })
    fc.assert(
      fc.property(pauses, fc.integer({ min: 1, max: 5_000 }), (steps, length) => {
        const window = new SlidingWindow(length)
        const times: number[] = []
        let now = 0
        for (const step of steps) {
          now += step
          times.push(now)
          const counted = window.add(now)
          const younger = (age: number): number => times.filter((time) => now - time < age).length
          expect(counted).toBeGreaterThanOrEqual(younger(length))
          expect(counted).toBeLessThanOrEqual(younger(length * (61 / 60) + 1e-6))
        }
      }),
    )
  })
})
