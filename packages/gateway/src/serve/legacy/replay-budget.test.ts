import { afterEach, expect, it, vi } from 'vitest'
import { ReplayBudget } from './replay-budget.ts'

afterEach(() => void vi.useRealTimers())

it('what is kept is looked over now and then, and not at all once there is nothing', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const budget = new ReplayBudget()
  const forgetStale = vi.fn()
  const keeper = { bytes: 100, shrink: vi.fn(), forgetStale }
  expect(vi.getTimerCount()).toBe(0)
  budget.changed(keeper, 100)
  vi.advanceTimersByTime(10_000)
  expect(forgetStale).toHaveBeenCalledTimes(2)
  keeper.bytes = 0
  budget.changed(keeper, -100)
  expect(vi.getTimerCount()).toBe(0)
})
