import { expect, it } from 'vitest'
import { reconnectDelay } from './reconnect-delay.ts'

it('waits first as long as the server asked for, within limits', () => {
  expect(reconnectDelay(0, 700)).toBe(700)
  expect(reconnectDelay(0, 0)).toBe(10)
  expect(reconnectDelay(0, 999_999_999)).toBe(30_000)
})

it('waits longer each time, at most half a minute, and varies by chance', () => {
  const longest = (attempt: number): number => reconnectDelay(attempt, undefined, () => 1)
  expect([0, 1, 2, 3, 20].map(longest)).toEqual([500, 1_000, 2_000, 4_000, 30_000])
  expect(reconnectDelay(2, undefined, () => 0)).toBe(1_000)
})
