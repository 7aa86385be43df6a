import { expect, test } from 'vitest'
import { FailureStreak } from './failure-streak.ts'

test('counts failures that are alike in tool, arguments and text, and nothing else', () => {
  const streak = new FailureStreak()
  const failure = { tool: 'a', args: { x: 1, y: 2 }, text: 'no' }
  expect(streak.add(failure)).toBe(1)
  expect(streak.add({ ...failure, args: { y: 2, x: 1 } })).toBe(2)
  expect(streak.add({ ...failure, text: 'other' })).toBe(1)
  expect(streak.add(failure)).toBe(1)
  expect(streak.add({ ...failure, tool: 'b' })).toBe(1)
  streak.reset()
  expect(streak.add({ ...failure, tool: 'b' })).toBe(1)
})

test('treats a bug of the server as the same failure, whatever its incident id', () => {
  const streak = new FailureStreak()
  const bug = (incident: string) => ({ tool: 'a', args: {}, text: `Something went wrong (incident ${incident}).` })
  expect(streak.add(bug('0a1b2c3d'))).toBe(1)
  expect(streak.add(bug('99999999'))).toBe(2)
})
