import { Cancellation, type JsonObject } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Call } from './call.ts'
import { WaitingCall } from './waiting-call.ts'

describe('a call that waits for a person', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  function waiting(changes: Partial<Call> = {}) {
    const reported: JsonObject[] = []
    const cancellation = new Cancellation()
    const call = {
      cancellation,
      onProgress: (progress: JsonObject) => void reported.push(progress),
      ...changes,
    } as Call
    const one = new WaitingCall(call)
    one.begin()
    return { one, reported, cancellation }
  }

  it('reports progress at once and every fifteen seconds, each time with a higher number', () => {
    const { one, reported } = waiting()
    vi.advanceTimersByTime(45_000)
    expect(reported.map(({ message }) => message)).toEqual(Array(4).fill('waiting for approval'))
    const numbers = reported.map(({ progress }) => Number(progress))
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
    expect(numbers.at(-1)).toBeLessThan(0.001)
    one.end()
    vi.advanceTimersByTime(60_000)
    expect(reported).toHaveLength(4)
  })

  it('passes on later progress of its server, but no lower numbers', () => {
    const { one, reported } = waiting()
    one.end()
    for (const progress of [0, 1, 1, 2]) one.call.onProgress?.({ progress, total: 2 })
    expect(reported.slice(1).map(({ progress }) => progress)).toEqual([1, 1, 2])
  })

  it('is cancelled when its client is gone and does not come back', () => {
    let isAwaited = true
    const { one, reported, cancellation } = waiting({ isAwaited: () => isAwaited })
    isAwaited = false
    vi.advanceTimersByTime(15_000)
    expect([reported.length, cancellation.reason]).toEqual([1, undefined])
    isAwaited = true
    vi.advanceTimersByTime(15_000)
    expect([reported.length, cancellation.reason, one.abandoned]).toEqual([2, undefined, undefined])
    isAwaited = false
    expect(one.abandoned?.code).toBe('CALL_CANCELLED')
    vi.advanceTimersByTime(30_000)
    expect(cancellation.reason).toBe('the client closed its connection')
  })
})
