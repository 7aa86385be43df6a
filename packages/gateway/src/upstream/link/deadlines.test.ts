import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Deadlines } from './deadlines.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  expect(vi.getTimerCount(), 'timers that were left').toBe(0)
  vi.useRealTimers()
})

/** Requests by name, each with its deadline; an overdue one is ended and recorded with the time. */
function waitFor(requests: Readonly<Record<string, number>>) {
  const begun = performance.now()
  const waiting = new Map(Object.entries(requests).map(([name, time]) => [name, begun + time]))
  const ended: string[] = []
  let looks = 0
  const deadlines = new Deadlines((now) => {
    looks++
    for (const [name, lateAt] of waiting)
      if (lateAt <= now && waiting.delete(name)) ended.push(`${name} at ${now - begun}`)
    return Math.min(...waiting.values())
  })
  for (const lateAt of waiting.values()) deadlines.schedule(lateAt)
  return { deadlines, waiting, ended, looks: () => looks }
}

describe('the deadlines of a connection', () => {
  it('end each request at its deadline, in whatever order they began', () => {
    const { ended } = waitFor({ slow: 600, quick: 10, usual: 60, 'as quick': 10 })
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(1_000)
    expect(ended).toEqual(['quick at 10', 'as quick at 10', 'usual at 60', 'slow at 600'])
  })

  it('fire once for any number of requests that were answered in time, and then for those that wait', () => {
    const answered = Array.from({ length: 100 }, (_, at) => `request ${at}`)
    const { waiting, ended, looks } = waitFor({ ...Object.fromEntries(answered.map((name) => [name, 60])), last: 90 })
    for (const name of answered) waiting.delete(name)
    vi.advanceTimersByTime(1_000)
    expect(ended).toEqual(['last at 90'])
    expect(looks()).toBe(2)
  })

  it('work for a request that begins after all others have ended', () => {
    const { deadlines, waiting, ended } = waitFor({ first: 10 })
    vi.advanceTimersByTime(100)
    waiting.set('next', performance.now() + 10)
    deadlines.schedule(performance.now() + 10)
    vi.advanceTimersByTime(100)
    expect(ended).toEqual(['first at 10', 'next at 110'])
  })

  it('end nothing more once they are stopped', () => {
    const { deadlines, ended } = waitFor({ only: 10 })
    deadlines.stop()
    vi.advanceTimersByTime(100)
    expect(ended).toEqual([])
  })
})
