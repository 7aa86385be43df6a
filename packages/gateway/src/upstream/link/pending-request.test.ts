import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { GATEWAY_PERMIT } from '../permit.ts'
import { Deadlines } from './deadlines.ts'
import { PendingRequest } from './pending-request.ts'

describe('the deadline of a request', () => {
  const late: number[] = []
  let exchange: PendingRequest

  beforeEach(() => {
    vi.useFakeTimers()
    late.length = 0
  })

  afterEach(() => void vi.useRealTimers())

  function beginExchange(timeout: number, maximum: number): void {
    const deadlines = new Deadlines((now) => {
      if (exchange.timeoutAt > now) return exchange.timeoutAt
      late.push(exchange.limit)
      return Number.POSITIVE_INFINITY
    })
    const call = { method: 'tools/call', params: {}, permit: GATEWAY_PERMIT }
    const nothing = (): void => {}
    exchange = new PendingRequest({
      ...{ id: 1, call, text: '', timeouts: { timeout, maximum }, deadlines },
      ...{ resolve: nothing, reject: nothing },
    })
  }

  it('is suspended while a question is open, and restarts with the answer', () => {
    beginExchange(100, 1_000)
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
    beginExchange(100, 1_000)
    exchange.pause()
    exchange.pause()
    exchange.resume()
    vi.advanceTimersByTime(10_000)
    expect(late).toEqual([])
    exchange.resume()
    vi.advanceTimersByTime(100)
    expect(late).toEqual([100])
  })

  it('has a maximum, however often the server asks or reports', () => {
    beginExchange(100, 250)
    for (let round = 0; round < 4; round++) {
      vi.advanceTimersByTime(60)
      exchange.pause()
      vi.advanceTimersByTime(5_000)
      exchange.reportProgress({})
      exchange.resume()
    }
    expect(late).toEqual([])
    vi.advanceTimersByTime(10)
    expect(late).toEqual([250])
  })

  it('is removed for good once nobody waits, even if an answer still comes', () => {
    beginExchange(100, 250)
    exchange.pause()
    exchange.stop()
    exchange.resume()
    vi.advanceTimersByTime(10_000)
    expect(late).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })
})
