import { once } from 'node:events'
import { expect, test } from 'vitest'
import { ParkedCalls } from './parked-calls.ts'

const claim = (owner: string) => ({ owner, request: 'r' })
const call = (onCancel: () => void = () => undefined) => ({ cancel: onCancel })

test('only its owner gets a call, and attempts of others do not remove it', () => {
  const parked = new ParkedCalls()
  const mine = call()
  const state = parked.park(mine, claim('me')) ?? ''
  expect(parked.take(state, claim('you'))).toBeUndefined()
  expect(parked.take(state, { owner: 'me', request: 'another' })).toBeUndefined()
  expect(parked.take(state, claim('me'))).toBe(mine)
  expect(parked.take(state, claim('me'))).toBeUndefined()
})

test('one owner cannot use up the limit for others', () => {
  const parked = new ParkedCalls({ maxCalls: 3, maxPerOwner: 2 })
  expect([1, 2, 3].map(() => parked.park(call(), claim('me')) !== undefined)).toEqual([true, true, false])
  expect(parked.park(call(), claim('you'))).toBeDefined()
  expect(parked.park(call(), claim('they'))).toBeUndefined()
  parked.close()
})

test('a call is cancelled if its client does not continue it, and every call is cancelled at the end', async () => {
  const events = new EventTarget()
  const expired = once(events, 'cancelled')
  const short = new ParkedCalls({ timeoutMs: 1 })
  // The timer does not keep the process alive, so the test must.
  const busy = setInterval(() => undefined, 1_000)
  short.park(
    call(() => events.dispatchEvent(new Event('cancelled'))),
    claim('me'),
  )
  await expired
  clearInterval(busy)
  const parked = new ParkedCalls()
  let cancelled = 0
  parked.park(
    call(() => void cancelled++),
    claim('me'),
  )
  parked.close()
  expect([cancelled, parked.size, short.size]).toEqual([1, 0, 0])
})
