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
  const events = {
    notifications: [] as JsonObject[],
    warnings: [] as string[],
    dropped: [] as string[],
    closes: [] as string[],
  }
  const link = new Link(
    transport,
    {
      onNotification: (notification) => events.notifications.push(notification),
      onQuestion: () => {},
      onWarning: (text) => events.warnings.push(text),
      onDropped: (reason) => events.dropped.push(reason),
      onClose: (reason) => events.closes.push(reason),
    },
    { clientInfo: CLIENT, capabilities: {}, ...speaker },
  )
  await link.open()
  const ask = (changes: Partial<GatewayCall & CallTimeouts> = {}): Promise<Frame> =>
    link.request({ method: 'tools/call', params: {}, timeout: 60_000, maximum: 600_000, ...changes })
  return { transport, link, events, ask }
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

  it('accepts the first answer and reports duplicate, late and unmatched ones', async () => {
    const { transport, link, events, ask } = await openLink()
    const first = ask()
    const other = ask()
    const [one, two] = transport.requests.map(({ id }) => id)
    transport.answer(one, { text: 'first' })
    transport.answer(one, { text: 'second' })
    transport.answer(123, { text: 'foreign' })
    transport.emit({ jsonrpc: '2.0', id: String(two), result: { text: 'as a string' } })
    transport.emit({ jsonrpc: '2.0', id: null, result: {} })
    transport.emit({ jsonrpc: '2.0', id: true, result: {} })
    transport.emit({ jsonrpc: '2.0', result: {} })
    expect(resultIn(await first)).toEqual({ text: 'first' })
    expect(events.warnings).toHaveLength(6)
    expect(link.inFlight).toBe(1)
    transport.answer(two)
    await other
    await link.close()
  })

  it('passes on an error answer unchanged', async () => {
    const { transport, link, ask } = await openLink()
    const call = ask()
    transport.refuse(lastId(transport), -32_000, 'no')
    expect((await call).envelope.error).toBeDefined()
    await link.close()
  })

  it('treats an answer with both or neither of a result and an error as invalid', async () => {
    const { transport, link, ask } = await openLink()
    for (const members of [{}, { result: {}, error: { code: 1, message: '' } }]) {
      const call = codeOf(ask())
      transport.emit({ jsonrpc: '2.0', id: lastId(transport), ...members })
      expect(await call).toBe('UPSTREAM_PROTOCOL')
    }
    await link.close()
  })

  it('treats an answer that no client could read as invalid', async () => {
    const { transport, link, ask } = await openLink()
    const errors = [5, null, {}, { code: 'x', message: 'no' }, { code: 1.5, message: 'no' }, { code: 1, message: {} }]
    for (const members of [{ result: 5 }, { result: null }, { result: [] }, ...errors.map((error) => ({ error }))]) {
      const call = codeOf(ask({ name: 'run' }))
      transport.emit({ jsonrpc: '2.0', id: lastId(transport), ...members } as JsonObject)
      expect(await call, JSON.stringify(members)).toBe('UPSTREAM_PROTOCOL')
    }
    await link.close()
  })

  it('fails only the call that the transport reports', async () => {
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

  it('passes on notifications and reports invalid ones', async () => {
    const { transport, link, events } = await openLink()
    transport.emit({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { level: 'info' } })
    transport.emit({ jsonrpc: '2.0', method: 5 })
    transport.emit({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'x'.repeat(4_100_000) } })
    expect(events.notifications).toHaveLength(1)
    expect(events.dropped).toEqual(['invalid', 'too_large'])
    await link.close()
  })
})

describe(`the messages of a link (${promise('GW-21')})`, () => {
  const paramsOf = (transport: MemoryTransport): JsonObject => transport.received.at(-1)?.params ?? {}

  it('let a secret pass to the only client only if every call that it may belong to allows that', async () => {
    const received: JsonObject[] = []
    const client = { era: 'legacy', logLevel: undefined, notify: (notice: JsonObject) => received.push(notice) }
    const speaker = { isOneClient: true, client: client as unknown as StandingClient }
    const { transport, link, ask } = await openLink({}, speaker)
    const key = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
    const lastData = (): unknown => {
      transport.emit({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: key } })
      return received.at(-1)?.params
    }
    const hidden = { level: 'info', data: '[redacted: GitHub token]' }
    expect(lastData()).toEqual(hidden)
    const calls = [codeOf(ask({ name: 'open', mayTellSecrets: true }))]
    expect(lastData()).toEqual({ level: 'info', data: key })
    calls.push(codeOf(ask({ name: 'closed' })), codeOf(ask({ name: 'open', mayTellSecrets: true })))
    expect(lastData()).toEqual(hidden)
    await link.close()
    await Promise.all(calls)
  })

  it('preserve keys such as __proto__', async () => {
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

  it('contain our own progress token instead of the client’s, and none if nobody listens', async () => {
    const { transport, link, ask } = await openLink()
    const calls = [codeOf(ask({ params: { _meta: { progressToken: 'theirs', 'x/y': 1 } }, onProgress: () => {} }))]
    expect(paramsOf(transport)._meta).toEqual({ progressToken: lastId(transport), 'x/y': 1 })
    calls.push(codeOf(ask({ params: { _meta: { progressToken: 'theirs' } } })))
    expect(paramsOf(transport)).toEqual({})
    await link.close()
    await Promise.all(calls)
  })

  it('contain the `_meta` of the modern era, with the client’s own members', async () => {
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

  it('reaches its call, in order, and nobody after the answer', async () => {
    const { transport, link, events, ask } = await openLink()
    const received: JsonObject[] = []
    const call = ask({ onProgress: (one) => received.push(one) })
    const id = lastId(transport)
    transport.emit(progress(id, 1))
    transport.emit(progress(String(id), 50))
    transport.emit(progress(id + 1, 51))
    transport.emit({ jsonrpc: '2.0', method: 'notifications/progress', params: [] })
    transport.emit(progress(id, 2))
    transport.answer(id)
    transport.emit(progress(id, 3))
    await call
    expect(received).toEqual([1, 2].map((value) => ({ progress: value, message: 'so far' })))
    expect(events.notifications).toEqual([])
    await link.close()
  })

  it(`keeps a call alive, but not beyond its maximum time (${promise('GW-8')})`, async () => {
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
  it('comes after the time limit, is sent to the server, and is final whatever comes later', async () => {
    const { transport, link, events, ask } = await openLink()
    const call = codeOf(ask({ timeout: 1_000 }))
    const id = lastId(transport)
    vi.advanceTimersByTime(1_000)
    expect(await call).toBe('UPSTREAM_TIMEOUT')
    expect(transport.received.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: id } })
    transport.answer(id)
    expect(events.warnings).toHaveLength(1)
    await link.close()
  })

  it('is not sent to a server that a closed stream has notified already', async () => {
    const { transport, link, ask } = await openLink({ abandonTells: true })
    const call = codeOf(ask({ timeout: 1_000 }))
    vi.advanceTimersByTime(1_000)
    expect(await call).toBe('UPSTREAM_TIMEOUT')
    expect(transport.received).toHaveLength(1)
    await link.close()
  })

  it('is never sent for the handshake, which cannot be cancelled', async () => {
    const { transport, link, ask } = await openLink()
    const call = codeOf(ask({ method: 'initialize', timeout: 1_000 }))
    vi.advanceTimersByTime(1_000)
    expect(await call).toBe('UPSTREAM_TIMEOUT')
    expect(transport.received).toHaveLength(1)
    await link.close()
  })

  it('comes with a cancellation, which is sent with its reason', async () => {
    const { transport, link, ask } = await openLink()
    const cancellation = new Cancellation()
    const call = codeOf(ask({ cancellation }))
    cancellation.cancel('no longer wanted')
    expect(await call).toBe('CALL_CANCELLED')
    expect(transport.received.at(-1)?.params).toEqual({ requestId: lastId(transport), reason: 'no longer wanted' })
    await link.close()
  })

  it('prevents a call that was cancelled before from being sent', async () => {
    const { transport, link, ask } = await openLink()
    const cancellation = new Cancellation()
    cancellation.cancel('no longer wanted')
    expect(await codeOf(ask({ cancellation }))).toBe('CALL_CANCELLED')
    expect(transport.received).toEqual([])
    await link.close()
  })

  it('is not sent for a cancellation after the answer', async () => {
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
    const { transport, link, events, ask } = await openLink()
    const calls = [codeOf(ask()), codeOf(ask())]
    transport.die('exited with code 3')
    transport.die('again')
    expect(await Promise.all(calls)).toEqual(['UPSTREAM_DIED', 'UPSTREAM_DIED'])
    await link.close()
    expect(events.closes).toEqual(['exited with code 3'])
    expect(link.closeReason).toBe('exited with code 3')
  })

  it('fails later calls immediately, and does not send them', async () => {
    const { transport, link, ask } = await openLink()
    await link.close()
    expect(await codeOf(ask())).toBe('UPSTREAM_GONE')
    expect(transport.received).toEqual([])
  })

  it('does not keep calls waiting while the process ends slowly', async () => {
    let ended = (): void => {}
    const { link, ask } = await openLink({ close: () => new Promise((resolve) => (ended = resolve)) })
    const call = codeOf(ask())
    const closing = link.close()
    expect(await call).toBe('UPSTREAM_DIED')
    ended()
    await closing
  })
})
