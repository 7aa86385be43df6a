import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Exchange } from './exchange.ts'

describe('the time that a request has', () => {
  const late: number[] = []

  beforeEach(() => {
    vi.useFakeTimers()
    late.length = 0
  })

  afterEach(() => void vi.useRealTimers())

  function exchangeOf(timeout: number, maximum: number): Exchange {
    return new Exchange({
      id: 1,
      request: { method: 'tools/call', params: {} },
      patience: { timeout, maximum },
      resolve: () => {},
      reject: () => {},
      onLate: (_id, limit) => void late.push(limit),
    })
  }

  it('does not pass while a question is open, and begins anew with the answer', () => {
    const exchange = exchangeOf(100, 1_000)
    vi.advanceTimersByTime(90)
    exchange.pause()
    vi.advanceTimersByTime(1_000_000)
    exchange.resume()
    vi.advanceTimersByTime(99)
    expect(late).toEqual([])
    vi.advanceTimersByTime(1)
    expect(late).toEqual([100])
  })

  it('waits for the last of several answers', () => {
    const exchange = exchangeOf(100, 1_000)
    exchange.pause()
    exchange.pause()
    exchange.resume()
    vi.advanceTimersByTime(10_000)
    expect(late).toEqual([])
    exchange.resume()
    vi.advanceTimersByTime(100)
    expect(late).toEqual([100])
  })

  it('is limited in all, however often the server asks or reports', () => {
    const exchange = exchangeOf(100, 250)
    for (let round = 0; round < 4; round++) {
      vi.advanceTimersByTime(60)
      exchange.pause()
      vi.advanceTimersByTime(5_000)
      exchange.progressed()
      exchange.resume()
    }
    expect(late).toEqual([])
    vi.advanceTimersByTime(10)
    expect(late).toEqual([250])
  })

  it('is over for good once nobody waits, though an answer still comes', () => {
    const exchange = exchangeOf(100, 250)
    exchange.pause()
    exchange.stop()
    exchange.resume()
    vi.advanceTimersByTime(10_000)
    expect(late).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })
})
