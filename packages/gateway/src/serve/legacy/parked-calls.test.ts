import { Cancellation, type JsonObject } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Answer } from '../../pipeline/pipeline.ts'
import { createRequest } from '../rpc/methods.test-kit.ts'
import { ModernClient } from '../rpc/modern-client.ts'
import type { ParkedCall } from './parked-call.ts'
import { type ParkedCallOutcome, ParkedCalls } from './parked-calls.ts'

const ANSWER = { kind: 'failure' } as unknown as Answer

/** A request of a modern client for one tool. */
function ask(more: JsonObject = {}, args: JsonObject = { a: 1, b: 2 }) {
  const params = { name: 'run', arguments: args, ...more }
  return createRequest('tools/call', params, {
    era: 'modern',
    client: new ModernClient(params, { notify: () => true }),
  })
}

/** With fake timers: advancing them sends the collected questions. */
function openCalls(timeoutMs?: number) {
  const calls = new ParkedCalls(timeoutMs)
  const settled = async (outcome: Promise<ParkedCallOutcome>): Promise<ParkedCallOutcome> => {
    outcome.catch(() => {})
    await vi.advanceTimersByTimeAsync(20)
    return outcome
  }
  return {
    begin: (...args: Parameters<ParkedCalls['begin']>) => settled(calls.begin(...args)),
    resume: (...args: Parameters<ParkedCalls['resume']>) => settled(calls.resume(...args)),
  }
}

/** A call whose server asks this many questions, one after the other. */
function serverThatAsks(times: number) {
  const answers: unknown[] = []
  const seen: { cancelled?: string } = {}
  const run = async (call: ParkedCall): Promise<Answer> => {
    const cancelled = new Promise<void>((resolve) =>
      call.cancellation.onCancel((reason) => {
        seen.cancelled = reason
        resolve()
      }),
    )
    for (let round = 0; round < times && seen.cancelled === undefined; round++) {
      const question = { method: 'elicitation/create', params: {}, cancellation: new Cancellation() }
      answers.push(await Promise.race([call.ask(question), cancelled]))
    }
    return ANSWER
  }
  return { run, answers, seen }
}

function inputOf(outcome: ParkedCallOutcome): { readonly requestState: string; readonly keys: readonly string[] } {
  if (outcome.kind !== 'input') throw new Error(`it is ${outcome.kind}`)
  const { requestState, inputRequests } = outcome.result
  return { requestState: String(requestState), keys: Object.keys(inputRequests as JsonObject) }
}

describe('a call that waits for its client', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  it('is cancelled if the client does not come back, and leaves nothing behind', async () => {
    const calls = openCalls(1_000)
    const { run, seen } = serverThatAsks(1)
    const { requestState } = inputOf(await calls.begin(ask().request, run))
    vi.advanceTimersByTime(999)
    expect(seen.cancelled).toBeUndefined()
    vi.advanceTimersByTime(1)
    expect(seen.cancelled).toContain('did not come back')
    await expect(calls.resume(ask({ requestState }).request)).rejects.toThrow('no longer waits')
    expect(vi.getTimerCount()).toBe(0)
  })

  it('restarts the timeout after each round, and has none while the server works', async () => {
    const calls = openCalls(1_000)
    const { run, answers, seen } = serverThatAsks(2)
    let { requestState, keys } = inputOf(await calls.begin(ask().request, run))
    vi.advanceTimersByTime(900)
    const inputResponses = { [String(keys[0])]: { action: 'accept' } }
    ;({ requestState, keys } = inputOf(await calls.resume(ask({ requestState, inputResponses }).request)))
    vi.advanceTimersByTime(900)
    const last = { [String(keys[0])]: { action: 'decline' } }
    expect(await calls.resume(ask({ requestState, inputResponses: last }).request)).toMatchObject({ answer: ANSWER })
    expect(answers).toEqual([{ result: { action: 'accept' } }, { result: { action: 'decline' } }])
    expect(seen.cancelled).toBeUndefined()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('ignores the order of members in the arguments, but no other difference', async () => {
    const calls = openCalls()
    const { requestState } = inputOf(await calls.begin(ask().request, serverThatAsks(1).run))
    await expect(calls.resume(ask({ requestState }, { a: 1, b: 3 }).request)).rejects.toThrow('not one that belongs')
    await expect(calls.resume(ask({ requestState }, {}).request)).rejects.toThrow('not one that belongs')
    expect(inputOf(await calls.resume(ask({ requestState }, { b: 2, a: 1 }).request)).keys).toHaveLength(1)
    const other = openCalls()
    await expect(other.resume(ask({ requestState }).request)).rejects.toThrow('not one that belongs')
  })

  it('asks again if the answer is not an object', async () => {
    const calls = openCalls()
    const { run, answers } = serverThatAsks(1)
    const { requestState, keys } = inputOf(await calls.begin(ask().request, run))
    for (const answer of [null, 5, 'x', []]) {
      const inputResponses = { [String(keys[0])]: answer }
      expect(inputOf(await calls.resume(ask({ requestState, inputResponses }).request)).keys).toEqual(keys)
    }
    expect(answers).toEqual([])
  })

  it('retains answers for clients that are away only up to a limit', async () => {
    const calls = openCalls()
    const large = { kind: 'frame', frame: { envelope: { bytes: 30_000_000 } } } as unknown as Answer
    /** Its server asks, and ends without the answer. */
    const park = async (): Promise<() => Promise<ParkedCallOutcome>> => {
      let end = (): void => {}
      const ended = new Promise<void>((resolve) => {
        end = resolve
      })
      const { requestState } = inputOf(
        await calls.begin(ask().request, async (call) => {
          void call.ask({ method: 'roots/list', params: {}, cancellation: new Cancellation() })
          await ended
          return large
        }),
      )
      end()
      await vi.advanceTimersByTimeAsync(0)
      return () => calls.resume(ask({ requestState }).request)
    }
    const [first, second, third] = [await park(), await park(), await park()]
    expect(await third()).toMatchObject({ answer: { kind: 'failure', error: { code: 'RESULT_WITHHELD' } } })
    expect(await first()).toMatchObject({ answer: large })
    const fourth = await park()
    for (const resume of [second, fourth]) expect(await resume()).toMatchObject({ answer: large })
  })

  it('ends with a bug like every other call', async () => {
    const calls = openCalls()
    const broken = calls.begin(ask().request, () => Promise.reject(new TypeError('a bug')))
    await expect(broken).rejects.toThrow('a bug')
    const later = inputOf(
      await calls.begin(ask().request, async (call) => {
        await call.ask({ method: 'roots/list', params: {}, cancellation: new Cancellation() })
        throw new TypeError('a later bug')
      }),
    )
    const inputResponses = { [String(later.keys[0])]: { roots: [] } }
    await expect(calls.resume(ask({ requestState: later.requestState, inputResponses }).request)).rejects.toThrow(
      'a later bug',
    )
  })

  it('is cancelled with the request that waits for it, but not with an earlier one', async () => {
    const calls = openCalls()
    const { run, seen } = serverThatAsks(2)
    const first = ask()
    const { requestState, keys } = inputOf(await calls.begin(first.request, run))
    first.cancellation.cancel('closed after the answer')
    expect(seen.cancelled).toBeUndefined()
    const second = ask({ requestState, inputResponses: { [String(keys[0])]: {} } })
    const resumed = calls.resume(second.request)
    second.cancellation.cancel('closed in the middle')
    expect(seen.cancelled).toBe('closed in the middle')
    await resumed
  })
})
