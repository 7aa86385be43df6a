import { Cancellation, type JsonObject, SallyportError } from '@sallyport/core'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import type { StandingClient } from '../client.ts'
import { codeOf, MemoryTransport, type MemoryTransportOptions } from '../memory-transport.test-kit.ts'
import { TestPermit } from '../permit.test-kit.ts'
import type { Frame } from '../transport.ts'
import { type ConnectionIdentity, Link } from './link.ts'
import type { GatewayCall } from './outgoing-call.ts'
import type { CallTimeouts } from './pending-request.ts'

const CLIENT = { name: 'test', version: '1' }

async function openLink(options: MemoryTransportOptions = {}, speaker: Partial<ConnectionIdentity> = {}) {
  const transport = new MemoryTransport(options)
  const told = {
    notifications: [] as JsonObject[],
    troubles: [] as string[],
    dropped: [] as string[],
    closes: [] as string[],
  }
  const link = new Link(
    transport,
    {
      onNotification: (notification) => told.notifications.push(notification),
      onQuestion: () => {},
      onWarning: (text) => told.troubles.push(text),
      onDropped: (reason) => told.dropped.push(reason),
      onClose: (reason) => told.closes.push(reason),
    },
    { clientInfo: CLIENT, capabilities: {}, ...speaker },
  )
  await link.open()
  const ask = (changes: Partial<GatewayCall & CallTimeouts> = {}): Promise<Frame> =>
    link.request({ method: 'tools/call', params: {}, timeout: 60_000, maximum: 600_000, ...changes })
  return { transport, link, told, ask }
}

const resultIn = (frame: Frame): unknown => JSON.parse(Buffer.concat(frame.parts).toString()).result
const lastId = (transport: MemoryTransport): number => transport.requests.at(-1)?.id ?? -1

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => {
  expect(vi.getTimerCount(), 'timers that were left').toBe(0)
  vi.useRealTimers()
})

describe(`a link (${promise('GW-20')})`, () => {
  it('gives each of many calls its own answer, in whatever order they come', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7], { minLength: 8 }), async (order) => {
        const { transport, link, ask } = await openLink()
        const calls = order.map((_, index) => ask({ params: { index } }))
        for (const index of order) transport.answer(transport.requests[index]?.id, { index })
        const answers = await Promise.all(calls)
        expect(answers.map(resultIn)).toEqual(order.map((_, index) => ({ index })))
        await link.close()
      }),
    )
  })

  it(`fails a call with the reason why its transport may not send it (${promise('GOV-13')})`, async () => {
    const { transport, link } = await openLink()
    const permit = new TestPermit().becomeStale()
    const call = { method: 'tools/call', params: {}, permit }
    expect(await codeOf(link.call(call, { timeout: 60_000, maximum: 600_000 }))).toBe('MODE_FORBIDS')
    expect([permit.timesSent, permit.timesRenewed, transport.received, link.inFlight]).toEqual([0, 1, [], 0])
    await link.close()
  })

  it('uses ids that a server cannot guess from those that it knows', async () => {
    const { transport, link, ask } = await openLink()
    const calls = Array.from({ length: 50 }, () => codeOf(ask()))
    const ids = transport.requests.map(({ id }) => id)
    expect(new Set(ids).size).toBe(50)
    expect(ids.every((id) => Number.isSafeInteger(id) && id >= 0)).toBe(true)
    const steps = new Set(ids.slice(1).map((id, index) => id - (ids[index] ?? 0)))
    expect(steps.size).toBe(49)
    await link.close()
    await Promise.all(calls)
  })

  it('takes the first answer and reports the second, the late and the foreign one', async () => {
    const { transport, link, told, ask } = await openLink()
    const first = ask()
    const other = ask()
    const [one, two] = transport.requests.map(({ id }) => id)
    transport.answer(one, { text: 'first' })
    transport.answer(one, { text: 'second' })
    transport.answer(123, { text: 'foreign' })
    transport.emit({ jsonrpc: '2.0', id: String(two), result: { text: 'as a text' } })
    transport.emit({ jsonrpc: '2.0', id: null, result: {} })
    transport.emit({ jsonrpc: '2.0', id: true, result: {} })
    transport.emit({ jsonrpc: '2.0', result: {} })
    expect(resultIn(await first)).toEqual({ text: 'first' })
    expect(told.troubles).toHaveLength(6)
    expect(link.inFlight).toBe(1)
    transport.answer(two)
    await other
    await link.close()
  })

  it('passes an error answer on as it came', async () => {
    const { transport, link, ask } = await openLink()
    const call = ask()
    transport.refuse(lastId(transport), -32_000, 'no')
    expect((await call).envelope.error).toBeDefined()
    await link.close()
  })

  it('takes an answer with both or neither of a result and an error for a broken one', async () => {
    const { transport, link, ask } = await openLink()
    for (const members of [{}, { result: {}, error: { code: 1, message: '' } }]) {
      const call = codeOf(ask())
      transport.emit({ jsonrpc: '2.0', id: lastId(transport), ...members })
      expect(await call).toBe('UPSTREAM_PROTOCOL')
    }
    await link.close()
  })

  it('takes an answer that no client could read for a broken one', async () => {
    const { transport, link, ask } = await openLink()
    const errors = [5, null, {}, { code: 'x', message: 'no' }, { code: 1.5, message: 'no' }, { code: 1, message: {} }]
    for (const members of [{ result: 5 }, { result: null }, { result: [] }, ...errors.map((error) => ({ error }))]) {
      const call = codeOf(ask({ name: 'run' }))
      transport.emit({ jsonrpc: '2.0', id: lastId(transport), ...members } as JsonObject)
      expect(await call, JSON.stringify(members)).toBe('UPSTREAM_PROTOCOL')
    }
    await link.close()
  })

  it('fails one call where the transport says so, and no other', async () => {
    const { transport, link, ask } = await openLink()
    const lost = codeOf(ask())
    transport.fail(lastId(transport), new SallyportError('UPSTREAM_TOO_LARGE', 'too large'))
    transport.fail(77, new SallyportError('UPSTREAM_TOO_LARGE', 'nobody asked'))
    expect(await lost).toBe('UPSTREAM_TOO_LARGE')
    const call = ask()
    transport.answer(lastId(transport))
    await call
    await link.close()
  })

  it('answers a ping, and refuses everything else that a server asks of a client', async () => {
    const { transport, link } = await openLink()
    transport.emit({ jsonrpc: '2.0', id: 'p', method: 'ping' })
    transport.emit({ jsonrpc: '2.0', id: 7, method: 'sampling/createMessage', params: {} })
    expect(transport.received).toMatchObject([
      { id: 'p', result: {} },
      { id: 7, error: { code: -32_601 } },
    ])
    await link.close()
  })

  it('passes notifications on and reports what is none', async () => {
    const { transport, link, told } = await openLink()
    transport.emit({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { level: 'info' } })
    transport.emit({ jsonrpc: '2.0', method: 5 })
    transport.emit({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'x'.repeat(4_100_000) } })
    expect(told.notifications).toHaveLength(1)
    expect(told.dropped).toEqual(['invalid', 'too_large'])
    await link.close()
  })
})

describe(`what a link writes (${promise('GW-21')})`, () => {
  const paramsOf = (transport: MemoryTransport): JsonObject => transport.received.at(-1)?.params ?? {}

  it('lets a key pass to the one client behind it only where each call that it may be about allows that', async () => {
    const heard: JsonObject[] = []
    const client = { era: 'legacy', logLevel: undefined, notify: (notice: JsonObject) => heard.push(notice) }
    const speaker = { isOneClient: true, client: client as unknown as StandingClient }
    const { transport, link, ask } = await openLink({}, speaker)
    const key = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
    const dataHeard = (): unknown => {
      transport.emit({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: key } })
      return heard.at(-1)?.params
    }
    const hidden = { level: 'info', data: '[redacted: GitHub token]' }
    expect(dataHeard()).toEqual(hidden)
    const calls = [codeOf(ask({ name: 'open', mayTellSecrets: true }))]
    expect(dataHeard()).toEqual({ level: 'info', data: key })
    calls.push(codeOf(ask({ name: 'closed' })), codeOf(ask({ name: 'open', mayTellSecrets: true })))
    expect(dataHeard()).toEqual(hidden)
    await link.close()
    await Promise.all(calls)
  })

  it('keeps keys that every object has, as keys like any other', async () => {
    const { transport, link, ask } = await openLink()
    const params = JSON.parse(
      '{"name":"constructor","arguments":{"__proto__":{"admin":true},"toString":1},"__proto__":2,"_meta":{"__proto__":3}}',
    ) as JsonObject
    const call = codeOf(ask({ params }))
    expect(transport.requests[0]?.text).toContain('"arguments":{"__proto__":{"admin":true},"toString":1},"__proto__":2')
    expect(transport.requests[0]?.text).toContain('"_meta":{"__proto__":3}')
    expect(({} as Record<string, unknown>).admin).toBeUndefined()
    await link.close()
    await call
  })

  it('puts a progress token of its own in the place of the client’s, and none where nobody listens', async () => {
    const { transport, link, ask } = await openLink()
    const calls = [codeOf(ask({ params: { _meta: { progressToken: 'theirs', 'x/y': 1 } }, onProgress: () => {} }))]
    expect(paramsOf(transport)._meta).toEqual({ progressToken: lastId(transport), 'x/y': 1 })
    calls.push(codeOf(ask({ params: { _meta: { progressToken: 'theirs' } } })))
    expect(paramsOf(transport)).toEqual({})
    await link.close()
    await Promise.all(calls)
  })

  it('carries the envelope of the modern era, and the client’s own words in it', async () => {
    const { transport, link, ask } = await openLink()
    link.completeHandshake('modern', '2026-07-28', {})
    const theirs = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }
    const call = codeOf(ask({ params: { _meta: { ...theirs, 'io.modelcontextprotocol/protocolVersion': 'old' } } }))
    expect(paramsOf(transport)._meta).toEqual({
      ...theirs,
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': CLIENT,
    })
    expect(transport.versions).toEqual(['2026-07-28'])
    await link.close()
    await call
  })
})

describe('progress', () => {
  const progress = (progressToken: unknown, value: number): object => ({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken, progress: value, message: 'so far' },
  })

  it('reaches the call that it is about, in order, and nobody after the answer', async () => {
    const { transport, link, told, ask } = await openLink()
    const heard: JsonObject[] = []
    const call = ask({ onProgress: (one) => heard.push(one) })
    const id = lastId(transport)
    transport.emit(progress(id, 1))
    transport.emit(progress(String(id), 50))
    transport.emit(progress(id + 1, 51))
    transport.emit({ jsonrpc: '2.0', method: 'notifications/progress', params: [] })
    transport.emit(progress(id, 2))
    transport.answer(id)
    transport.emit(progress(id, 3))
    await call
    expect(heard).toEqual([1, 2].map((value) => ({ progress: value, message: 'so far' })))
    expect(told.notifications).toEqual([])
    await link.close()
  })

  it(`keeps a call alive, but not beyond its longest time (${promise('GW-8')})`, async () => {
    const { transport, link, ask } = await openLink()
    const call = codeOf(ask({ timeout: 1_000, maximum: 2_500, onProgress: () => {} }))
    const id = lastId(transport)
    for (let step = 0; step < 3; step++) {
      vi.advanceTimersByTime(800)
      expect(link.inFlight).toBe(1)
      transport.emit(progress(id, step))
    }
    vi.advanceTimersByTime(2_500)
    expect(await call).toBe('UPSTREAM_TIMEOUT')
    expect(transport.abandoned).toEqual([id])
    await link.close()
  })
})

describe(`an end before the answer (${promise('GW-8')})`, () => {
  it('comes after the time limit, is told to the server, and stands whatever comes later', async () => {
    const { transport, link, told, ask } = await openLink()
    const call = codeOf(ask({ timeout: 1_000 }))
    const id = lastId(transport)
    vi.advanceTimersByTime(1_000)
    expect(await call).toBe('UPSTREAM_TIMEOUT')
    expect(transport.received.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: id } })
    transport.answer(id)
    expect(told.troubles).toHaveLength(1)
    await link.close()
  })

  it('is not told again to a server that a closed stream told already', async () => {
    const { transport, link, ask } = await openLink({ abandonTells: true })
    const call = codeOf(ask({ timeout: 1_000 }))
    vi.advanceTimersByTime(1_000)
    expect(await call).toBe('UPSTREAM_TIMEOUT')
    expect(transport.received).toHaveLength(1)
    await link.close()
  })

  it('is never told of the handshake, which cannot be cancelled', async () => {
    const { transport, link, ask } = await openLink()
    const call = codeOf(ask({ method: 'initialize', timeout: 1_000 }))
    vi.advanceTimersByTime(1_000)
    expect(await call).toBe('UPSTREAM_TIMEOUT')
    expect(transport.received).toHaveLength(1)
    await link.close()
  })

  it('comes with a cancellation, which is told with its reason', async () => {
    const { transport, link, ask } = await openLink()
    const cancellation = new Cancellation()
    const call = codeOf(ask({ cancellation }))
    cancellation.cancel('no longer wanted')
    expect(await call).toBe('CALL_CANCELLED')
    expect(transport.received.at(-1)?.params).toEqual({ requestId: lastId(transport), reason: 'no longer wanted' })
    await link.close()
  })

  it('keeps a call that was cancelled before from being sent at all', async () => {
    const { transport, link, ask } = await openLink()
    const cancellation = new Cancellation()
    cancellation.cancel('no longer wanted')
    expect(await codeOf(ask({ cancellation }))).toBe('CALL_CANCELLED')
    expect(transport.received).toEqual([])
    await link.close()
  })

  it('is not told for a cancellation that comes after the answer', async () => {
    const { transport, link, ask } = await openLink()
    const cancellation = new Cancellation()
    const call = ask({ cancellation })
    transport.answer(lastId(transport))
    cancellation.cancel('too late')
    await call
    expect(transport.received).toHaveLength(1)
    await link.close()
  })
})

describe('the end of a link', () => {
  it('fails every call with the reason, once', async () => {
    const { transport, link, told, ask } = await openLink()
    const calls = [codeOf(ask()), codeOf(ask())]
    transport.die('exited with code 3')
    transport.die('again')
    expect(await Promise.all(calls)).toEqual(['UPSTREAM_DIED', 'UPSTREAM_DIED'])
    await link.close()
    expect(told.closes).toEqual(['exited with code 3'])
    expect(link.closeReason).toBe('exited with code 3')
  })

  it('answers calls that come after it at once, and does not send them', async () => {
    const { transport, link, ask } = await openLink()
    await link.close()
    expect(await codeOf(ask())).toBe('UPSTREAM_GONE')
    expect(transport.received).toEqual([])
  })

  it('does not keep calls waiting while the process takes its time to end', async () => {
    let ended = (): void => {}
    const { link, ask } = await openLink({ close: () => new Promise((resolve) => (ended = resolve)) })
    const call = codeOf(ask())
    const closing = link.close()
    expect(await call).toBe('UPSTREAM_DIED')
    ended()
    await closing
  })
})
