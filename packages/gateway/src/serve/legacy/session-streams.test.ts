import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { openPairs } from '../event-reader.test-kit.ts'
import { notificationMessage, preserializedMessage, resultMessage, type WireMessage } from '../rpc/wire-message.ts'
import { ReplayBudget } from './replay-budget.ts'
import { SessionStreams } from './session-streams.ts'

const SESSION = '0123abcd-0000-4000-8000-000000000000'
const TAG = '0123abcd'

function openStreams(protocolVersion = '2025-11-25', budget = new ReplayBudget()) {
  const clock = { now: 0 }
  const streams = new SessionStreams({ sessionId: SESSION, protocolVersion, budget, now: () => clock.now })
  return { clock, budget, streams }
}

const notice = (text: string | number): WireMessage => notificationMessage({ method: 'n', params: { text } })
const answer = (text: string): WireMessage => resultMessage(1, { text })

async function close(response: ServerResponse): Promise<void> {
  const closed = once(response, 'close')
  response.destroy()
  await closed
}

const textsOf = (events: readonly (readonly [string, string])[]): readonly unknown[] =>
  events.filter(([, data]) => data !== '').map(([, data]) => textIn(JSON.parse(data)))

const textIn = ({ params, result, error }: any): unknown => params?.text ?? result?.text ?? error?.data.code

describe(`${promise('GW-17')} a stream that is resumed`, () => {
  it('sends what followed the named event, and ends with the answer', async () => {
    const [pairs, { streams }] = [await openPairs(), openStreams()]
    const first = await pairs()
    const stream = streams.open(first.response, 1)
    for (const text of ['one', 'two', 'three']) stream.send(notice(text), 'notice')
    await first.reader.sees('three')
    await close(first.response)
    stream.send(notice('four'), 'request')
    stream.finish(answer('done'))
    const second = await pairs()
    streams.listen(second.response, first.reader.events[2]?.[0])
    await second.reader.ends()
    expect(second.reader.events.map(([id]) => id)).toEqual(['2', '3', '4', '5'].map((number) => `${TAG}-1-${number}`))
    expect(textsOf(second.reader.events)).toEqual(['three', 'four', 'done'])
  })

  it('sends no more requests to a client that leaves megabytes unread', async () => {
    const [pairs, { streams }] = [await openPairs(), openStreams()]
    const { response } = await pairs()
    const stream = streams.open(response, 1)
    const asked = Array.from({ length: 12 }, () => stream.send(notice('x'.repeat(3_000_000)), 'request'))
    expect([asked[0], asked.at(-1)]).toEqual([true, false])
    expect(response.writableLength).toBeLessThan(30_000_000)
    await close(response)
  })

  it('sends no message after its answer', async () => {
    const [pairs, { streams }] = [await openPairs(), openStreams()]
    const { response, reader } = await pairs()
    const stream = streams.open(response, 1)
    stream.finish(answer('done'))
    stream.finish(answer('again'))
    expect(stream.send(notice('too late'), 'request')).toBe(false)
    await reader.ends()
    const again = await pairs()
    streams.listen(again.response, `${TAG}-1-0`)
    await again.reader.ends()
    for (const { events } of [reader, again.reader]) expect(textsOf(events)).toEqual(['done'])
  })

  it('ignores a connection that is already closed', async () => {
    const [pairs, { streams }] = [await openPairs(), openStreams()]
    const { response } = await pairs()
    await close(response)
    streams.listen(response, undefined)
    expect(streams.isConnected).toBe(false)
  })

  it('preserves the bytes, in however many pieces they arrived', async () => {
    const [pairs, { streams }] = [await openPairs(), openStreams()]
    const first = await pairs()
    const stream = streams.open(first.response, 1)
    await close(first.response)
    stream.finish(preserializedMessage(1, [Buffer.from('{"text":"grüße 😀"}')]))
    const second = await pairs()
    streams.listen(second.response, `${TAG}-1-0`)
    await second.reader.ends()
    expect(textsOf(second.reader.events)).toEqual(['grüße 😀'])
  })
})

describe('a client that reads slowly', () => {
  it('misses notices, but no request and no answer, and everything comes in order', async () => {
    const [pairs, { streams, budget }] = [await openPairs(), openStreams()]
    const { response, reader } = await pairs()
    const stream = streams.open(response, 1)
    const large = 'x'.repeat(10_000)
    for (let number = 0; number < 3_000; number++) {
      stream.send(notice(`${number} ${large}`), number % 1_000 === 500 ? 'request' : 'notice')
    }
    expect(response.writableLength).toBeLessThan(2_000_000)
    expect(budget.bytes).toBeLessThan(1_000_000)
    stream.finish(answer('done'))
    await reader.ends()
    const numbers = textsOf(reader.events).map((text) => Number.parseInt(String(text), 10))
    expect(numbers.length).toBeLessThan(3_000)
    expect(numbers).toEqual(expect.arrayContaining([0, 500, 1_500, 2_500]))
    expect(textsOf(reader.events).at(-1)).toBe('done')
    expect(numbers.slice(0, -1)).toEqual([...numbers.slice(0, -1)].sort((a, b) => a - b))
  })

  it('still gets an answer that is too large to be retained', async () => {
    const [pairs, { streams, budget }] = [await openPairs(), openStreams()]
    const { response, reader } = await pairs()
    const stream = streams.open(response, 1)
    for (let number = 0; number < 200; number++) stream.send(notice('x'.repeat(10_000)), 'notice')
    const text = 'y'.repeat(9_000_000)
    stream.finish(answer(text))
    expect(budget.bytes).toBeLessThan(1_000)
    await reader.ends()
    expect(textsOf(reader.events).at(-1)).toBe(text)
  })

  it('frees what it has not read once another connection replaced it', async () => {
    const [pairs, { streams }] = [await openPairs(), openStreams()]
    const [first, second] = [await pairs(), await pairs()]
    const stream = streams.open(first.response, 1)
    for (let number = 0; number < 1_000; number++) stream.send(notice('x'.repeat(10_000)), 'notice')
    streams.listen(second.response, `${TAG}-1-0`)
    expect(first.response.destroyed).toBe(true)
  })
})

describe('what is retained for clients that reconnect', () => {
  it('is empty for a session without a listener', () => {
    const { streams, budget } = openStreams()
    streams.send({ method: 'notifications/tools/list_changed' })
    expect([streams.bytes, budget.bytes]).toEqual([0, 0])
  })

  it('contains a repeated notice only once while the client is away', async () => {
    const [pairs, { streams }] = [await openPairs(), openStreams()]
    const first = await pairs()
    streams.listen(first.response, undefined)
    streams.send({ method: 'a' })
    await first.reader.sees('"a"')
    await close(first.response)
    for (const method of ['a', 'b', 'a', 'b']) streams.send({ method })
    const second = await pairs()
    streams.listen(second.response, first.reader.events.at(-1)?.[0])
    streams.send({ method: 'b' })
    await second.reader.sees(`${TAG}-0-4`)
    expect(second.reader.events.map(([, data]) => data && JSON.parse(data).method)).toEqual(['', 'a', 'b', 'b'])
  })

  it('is removed some time after delivery, and later if it was not delivered', async () => {
    const [pairs, { streams, clock, budget }] = [await openPairs(), openStreams()]
    const [near, gone] = [await pairs(), await pairs()]
    const [delivered, lost] = [streams.open(near.response, 1), streams.open(gone.response, 2)]
    await close(gone.response)
    for (const stream of [delivered, lost]) stream.finish(answer('done'))
    await near.reader.ends()
    near.reader.cut()
    await eventuallyClosed(near.response)
    const kept = budget.bytes
    clock.now = 60_001
    budget.sweep()
    expect(budget.bytes).toBe(kept / 2)
    clock.now = 300_001
    budget.sweep()
    expect(budget.bytes).toBe(0)
  })

  it('does not expire while the call is in flight', async () => {
    const [pairs, { streams, clock, budget }] = [await openPairs(), openStreams()]
    const { response } = await pairs()
    const stream = streams.open(response, 1)
    await close(response)
    stream.send(notice('asked'), 'request')
    clock.now = 599_999
    budget.sweep()
    const again = await pairs()
    streams.listen(again.response, `${TAG}-1-0`)
    await again.reader.sees('asked')
  })

  it('includes a request for a client that reconnects, but not for one that has been away for long', async () => {
    const [pairs, { streams, clock }] = [await openPairs(), openStreams()]
    expect(streams.send({ id: 'q', method: 'ping' })).toBe(false)
    const first = await pairs()
    streams.listen(first.response, undefined)
    await close(first.response)
    clock.now = 30_000
    expect(streams.send({ id: 'early', method: 'ping' })).toBe(true)
    clock.now = 30_001
    expect(streams.send({ id: 'late', method: 'ping' })).toBe(false)
    const second = await pairs()
    streams.listen(second.response, `${TAG}-0-0`)
    await second.reader.sees('early')
    expect(second.reader.text).not.toContain('late')
  })

  it('ends with the session: only a client that is still connected gets the answer', async () => {
    const [pairs, { streams, budget }] = [await openPairs(), openStreams()]
    const [here, gone, listening] = [await pairs(), await pairs(), await pairs()]
    const calls = [streams.open(here.response, 1), streams.open(gone.response, 2)]
    streams.listen(listening.response, undefined)
    await close(gone.response)
    for (const stream of calls) stream.send(notice('before'), 'notice')
    streams.close()
    for (const stream of calls) stream.finish(answer('cancelled'))
    await Promise.all([here.reader.ends(), listening.reader.ends()])
    expect(textsOf(here.reader.events)).toEqual(['before', 'cancelled'])
    expect([streams.bytes, budget.bytes]).toEqual([0, 0])
  })

  it('has unique ids, even if the stream was removed in between', async () => {
    const [pairs, { streams, clock, budget }] = [await openPairs(), openStreams()]
    const first = await pairs()
    streams.listen(first.response, undefined)
    streams.send({ method: 'a' })
    await first.reader.sees('"a"')
    await close(first.response)
    clock.now = 300_001
    budget.sweep()
    expect(budget.bytes).toBe(0)
    const second = await pairs()
    streams.listen(second.response, first.reader.events.at(-1)?.[0])
    streams.send({ method: 'b' })
    await second.reader.sees('"b"')
    expect(second.reader.events.map(([id]) => id)).toEqual([`${TAG}-0-1`, `${TAG}-0-2`])
  })

  it('is limited: an answer that is too large is lost, and a client that resumes gets an error', async () => {
    const [pairs, { streams, budget }] = [await openPairs(), openStreams()]
    const first = await pairs()
    const stream = streams.open(first.response, 1)
    await close(first.response)
    stream.finish(preserializedMessage(1, [Buffer.from(JSON.stringify({ text: 'x'.repeat(9_000_000) }))]))
    expect(budget.bytes).toBeLessThan(1_000)
    const second = await pairs()
    streams.listen(second.response, `${TAG}-1-0`)
    await second.reader.ends()
    expect(textsOf(second.reader.events)).toEqual(['RESULT_WITHHELD'])
  })

  it('is limited: a large answer that is being sent is not retained', async () => {
    const [pairs, { streams, budget }] = [await openPairs(), openStreams()]
    const { response, reader } = await pairs()
    const text = 'x'.repeat(9_000_000)
    streams.open(response, 1).finish(answer(text))
    expect(budget.bytes).toBeLessThan(1_000)
    await reader.ends()
    expect(textsOf(reader.events)).toEqual([text])
  })

  it('is limited by the number of calls: delivered ones are removed first', async () => {
    const [pairs, { streams, budget }] = [await openPairs(), openStreams()]
    const lost = await pairs()
    const first = streams.open(lost.response, 'first')
    await close(lost.response)
    first.finish(answer('first'))
    const one = budget.bytes
    for (let number = 0; number < 100; number++) {
      const { response, reader } = await pairs()
      streams.open(response, number).finish(answer('done'))
      await reader.ends()
      await eventuallyClosed(response)
    }
    expect(budget.bytes).toBeLessThan(70 * one)
    const again = await pairs()
    streams.listen(again.response, `${TAG}-1-0`)
    await again.reader.ends()
    expect(textsOf(again.reader.events)).toEqual(['first'])
  })

  it('is limited for all sessions together: the largest one is reduced first', async () => {
    const pairs = await openPairs()
    const budget = new ReplayBudget()
    const keep = async (bytes: number): Promise<SessionStreams> => {
      const { streams } = openStreams('2025-11-25', budget)
      const { response } = await pairs()
      const stream = streams.open(response, 1)
      await close(response)
      stream.finish(answer('x'.repeat(bytes)))
      return streams
    }
    const small = await keep(1_000)
    const large = []
    for (let count = 0; count < 12; count++) large.push(await keep(7_000_000))
    expect(budget.bytes).toBeLessThanOrEqual(64_000_000)
    expect(small.bytes).toBeGreaterThan(1_000)
    for (const streams of [small, ...large]) streams.close()
    expect(budget.bytes).toBe(0)
  })
})

async function eventuallyClosed(response: ServerResponse): Promise<void> {
  if (!response.closed) await once(response, 'close')
}
