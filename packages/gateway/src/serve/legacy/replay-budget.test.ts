import { afterEach, expect, it, vi } from 'vitest'
import { ReplayBudget } from './replay-budget.ts'

afterEach(() => void vi.useRealTimers())

it('buffers are swept at intervals, and the timer stops when there are none', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const budget = new ReplayBudget()
  const forgetStale = vi.fn()
  const buffer = { bytes: 100, shrink: vi.fn(), forgetStale }
  expect(vi.getTimerCount()).toBe(0)
  budget.changed(buffer, 100)
  vi.advanceTimersByTime(10_000)
  expect(forgetStale).toHaveBeenCalledTimes(2)
  buffer.bytes = 0
  budget.changed(buffer, -100)
  expect(vi.getTimerCount()).toBe(0)
})
