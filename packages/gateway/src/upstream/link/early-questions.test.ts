import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EarlyQuestions } from './early-questions.ts'
import type { ServerRequest } from './questions.ts'

const question = (id: number): ServerRequest => ({ message: { id, method: 'roots/list' }, claims: undefined })

describe('what a server asks before the first call', () => {
  const unanswerable: ServerRequest[] = []
  let early: EarlyQuestions

  beforeEach(() => {
    vi.useFakeTimers()
    unanswerable.length = 0
    early = new EarlyQuestions((request) => void unanswerable.push(request))
  })

  afterEach(() => void vi.useRealTimers())

  it('is stored for that call, in order, and returned once', () => {
    early.add(question(1))
    early.add(question(2))
    early.add(question(3))
    early.cancel(2)
    expect(early.takeAll()).toEqual([question(1), question(3)])
    expect(early.takeAll()).toEqual([])
    vi.advanceTimersByTime(60_000)
    expect(unanswerable).toEqual([])
  })

  it('is refused if no call comes', () => {
    early.add(question(1))
    vi.advanceTimersByTime(4_999)
    early.add(question(2))
    expect(unanswerable).toEqual([])
    vi.advanceTimersByTime(1)
    expect(unanswerable).toEqual([question(1), question(2)])
    expect(early.size).toBe(0)
  })

  it('is limited, and forgotten with the connection', () => {
    for (let id = 0; id < 9; id++) early.add(question(id))
    expect(unanswerable).toEqual([question(8)])
    early.stop()
    expect(early.size).toBe(0)
    expect(vi.getTimerCount()).toBe(0)
  })
})
