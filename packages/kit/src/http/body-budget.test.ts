import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { BodyBudget } from './body-budget.ts'

const ignore = (): void => {}

describe('bodies that are being received', () => {
  it('never use more than the limit of their caller and the total, and release what they used', () => {
    const step = fc.record({
      owner: fc.constantFrom('a', 'b', 'c'),
      bytes: fc.integer({ min: 0, max: 60 }),
      ends: fc.nat(3),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const budget = new BodyBudget({ maxBytesPerOwner: () => 100, maxTotalBytes: () => 250 })
        const open: { owner: string; bytes: number; end: () => void }[] = []
        const sumOf = (owner?: string) =>
          open.filter((body) => owner === undefined || body.owner === owner).reduce((sum, { bytes }) => sum + bytes, 0)
        for (const { owner, bytes, ends } of steps) {
          const claim = budget.open(owner, ignore)
          const refused = claim.reserve(bytes)?.code
          const expected =
            sumOf(owner) + bytes > 100 ? 'RATE_LIMITED' : sumOf() + bytes > 250 ? 'OVERLOADED' : undefined
          expect(refused).toBe(expected)
          if (refused === undefined) open.push({ owner, bytes, end: () => claim.release() })
          else claim.release()
          for (const body of open.splice(0, ends === 0 ? 1 : 0)) body.end()
        }
        for (const body of open) body.end()
        const whole = budget.open('a', ignore)
        expect(whole.reserve(100)).toBeUndefined()
        whole.release()
      }),
    )
  })

  it('are ended when they stall, but not while data arrives', () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const budget = new BodyBudget({ maxBytesPerOwner: () => 100, maxTotalBytes: () => 100 })
    const stalled: string[] = []
    const slow = budget.open('a', () => stalled.push('slow'))
    const silent = budget.open('a', (error) => {
      stalled.push(error.code)
      silent.release()
    })
    for (let second = 0; second < 20; second++) {
      vi.advanceTimersByTime(1_000)
      slow.reserve(1)
    }
    expect(stalled).toEqual(['BODY_STALLED'])
    slow.release()
    expect(vi.getTimerCount()).toBe(0)
  })
})
