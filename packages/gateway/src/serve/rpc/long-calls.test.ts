import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LongCalls } from './long-calls.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

const newCall = () => ({ index: -1, beginStream: vi.fn<() => void>() })

describe('a call that takes long', () => {
  it('becomes a stream once, after its first ten seconds and within twenty', () => {
    const [calls, call] = [new LongCalls(), newCall()]
    calls.add(newCall())
    vi.advanceTimersByTime(5_000)
    calls.add(call)
    vi.advanceTimersByTime(9_999)
    expect(call.beginStream).not.toHaveBeenCalled()
    vi.advanceTimersByTime(60_000)
    expect(call.beginStream).toHaveBeenCalledOnce()
  })

  it('does not become a stream after its end, and leaves no timer', () => {
    const calls = new LongCalls()
    const [early, late] = [newCall(), newCall()]
    for (const call of [early, late]) calls.add(call)
    calls.delete(early)
    vi.advanceTimersByTime(10_000)
    calls.delete(late)
    vi.advanceTimersByTime(10_000)
    expect([early, late].flatMap(({ beginStream }) => beginStream.mock.calls)).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })
})
