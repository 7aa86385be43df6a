import { isJsonObject, type JsonObject, META, SallyportError } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { codeOf, MemoryTransport, type ReceivedMessage } from '../memory-transport.test-kit.ts'
import { TestPermit } from '../permit.test-kit.ts'
import { Link } from './link.ts'
import { ListenRequest } from './listen-request.ts'

const TIMEOUT_MS = 10_000
const GATHER = 20

interface Script {
  /** The lists of the filter. */
  readonly lists?: JsonObject
  /** What it does with a listening request; by default it grants everything. */
  readonly serve?: (message: ReceivedMessage, server: MemoryTransport) => void
}

const filterOf = ({ params }: ReceivedMessage): JsonObject =>
  isJsonObject(params?.notifications) ? params.notifications : ({} as JsonObject)

function acknowledge(
  message: ReceivedMessage,
  server: MemoryTransport,
  notifications: JsonObject = filterOf(message),
): void {
  const _meta = { [META.subscriptionId]: message.id ?? null }
  server.emit({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta } })
}

async function listening({ lists = { toolsListChanged: true }, serve = acknowledge }: Script = {}) {
  const troubles: string[] = []
  const dropped: string[] = []
  const consumed: [JsonObject, boolean][] = []
  /** Whether the request is not concerned. */
  const take = ({ method, params }: JsonObject): boolean => {
    const { _meta, notifications } = params as { _meta?: JsonObject; notifications?: JsonObject }
    const id = _meta?.[META.subscriptionId]
    if (method === 'notifications/subscriptions/acknowledged') source.acknowledged(id, notifications)
    return id !== undefined && !source.owns(id)
  }
  const transport = new MemoryTransport({
    serve: (message, server) => message.method === 'subscriptions/listen' && serve(message, server),
  })
  const link = new Link(
    transport,
    {
      onNotification: (notification) => void consumed.push([notification, take(notification)]),
      onQuestion: () => {},
      onWarning: () => {},
      onDropped: () => {},
      onClose: () => {},
    },
    { clientInfo: {}, capabilities: {} },
  )
  await link.open()
  const source = new ListenRequest({
    ...{ link, lists, timeoutMs: TIMEOUT_MS },
    onWarning: (text) => void troubles.push(text),
    onDropped: (uris) => void dropped.push(...uris),
  })
  const listens = (): readonly ReceivedMessage[] =>
    transport.received.filter(({ method }) => method === 'subscriptions/listen')
  const filters = (): readonly JsonObject[] => listens().map(filterOf)
  const cancelled = (): readonly unknown[] =>
    transport.received
      .filter(({ method }) => method === 'notifications/cancelled')
      .map(({ params }) => params?.requestId)
  const pass = async (time = GATHER): Promise<void> => void (await vi.advanceTimersByTimeAsync(time))
  const close = async (): Promise<void> => {
    source.close()
    await link.close()
    await pass(0)
  }
  return { source, transport, link, listens, filters, cancelled, troubles, dropped, consumed, pass, close }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

describe(`a listening request to a modern server (${promise('GW-17')})`, () => {
  it('does not count as a call in flight', async () => {
    const { filters, link, pass, close } = await listening()
    await pass()
    expect(filters()).toEqual([{ toolsListChanged: true }])
    expect(link.inFlight).toBe(0)
    await close()
  })

  it('is not sent before there is something to listen for', async () => {
    const { filters, pass, close } = await listening({ lists: {} })
    await pass(60_000)
    expect(filters()).toEqual([])
    await close()
  })

  it('replaces itself for another resource, and stays as it is for one less', async () => {
    const { source, filters, listens, cancelled, pass, close } = await listening()
    await pass()
    const asked = [source.subscribe('a://1'), source.subscribe('a://2')]
    await pass()
    const granted = await Promise.all(asked)
    expect(granted.every(({ envelope }) => envelope.result !== undefined)).toBe(true)
    expect(filters()[1]).toEqual({ toolsListChanged: true, resourceSubscriptions: ['a://1', 'a://2'] })
    expect(cancelled()).toEqual([listens()[0]?.id])
    await source.unsubscribe('a://1')
    await pass()
    const again = source.subscribe('a://1')
    await pass()
    expect((await again).envelope.result).toBeDefined()
    expect(filters()).toHaveLength(2)
    await close()
  })

  it('leaves out what must not be sent any more, and asks for the rest', async () => {
    const { source, filters, pass, close } = await listening({ lists: {} })
    const permit = new TestPermit()
    const refused = codeOf(source.subscribe('a://private', permit))
    const granted = source.subscribe('a://1')
    permit.becomeStale()
    await pass()
    expect(await refused).toBe('MODE_FORBIDS')
    await pass()
    expect((await granted).envelope.result).toBeDefined()
    expect(filters()).toEqual([{ resourceSubscriptions: ['a://1'] }])
    await close()
  })

  it('keeps the previous request until the next one is acknowledged, and reports each change once', async () => {
    const waiting: ReceivedMessage[] = []
    const { source, transport, listens, cancelled, consumed, pass, close } = await listening({
      serve: (message, server) => {
        if (waiting.push(message) === 1) acknowledge(message, server)
      },
    })
    const first = source.subscribe('a://1')
    await pass()
    await first
    const second = source.subscribe('a://2')
    await pass()
    const [old, next] = listens()
    const updated = (id: unknown) => ({
      ...{ jsonrpc: '2.0', method: 'notifications/resources/updated' },
      params: { uri: 'a://1', _meta: { [META.subscriptionId]: id } },
    })
    expect(cancelled()).toEqual([])
    transport.emit(updated(old?.id))
    acknowledge(next as ReceivedMessage, transport)
    await second
    expect(cancelled()).toEqual([old?.id])
    for (const id of [old?.id, next?.id, 'made up']) transport.emit(updated(id))
    transport.emit({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'a://1' } })
    const updates = consumed.filter(([{ method }]) => method === 'notifications/resources/updated')
    expect(updates.map(([, isConsumed]) => isConsumed)).toEqual([false, true, false, true, false])
    await close()
  })

  it('collects subscriptions while a request is not acknowledged yet', async () => {
    const received: ReceivedMessage[] = []
    const { source, transport, filters, pass, close } = await listening({
      serve: (message) => void received.push(message),
    })
    await pass()
    const asked = ['a://1', 'a://2', 'a://3'].map((uri) => source.subscribe(uri))
    await pass(1_000)
    expect(filters()).toHaveLength(1)
    acknowledge(received[0] as ReceivedMessage, transport)
    await pass()
    expect(filters()[1]).toMatchObject({ resourceSubscriptions: ['a://1', 'a://2', 'a://3'] })
    acknowledge(received[1] as ReceivedMessage, transport)
    await Promise.all(asked)
    await close()
  })

  it('refuses what the server does not acknowledge, and ignores grants that were not requested', async () => {
    const { source, filters, pass, close } = await listening({
      serve: (message, server) =>
        acknowledge(message, server, { resourceSubscriptions: ['a://1', 'b://unasked', 7 as never] }),
    })
    const [granted, refused] = [source.subscribe('a://1'), codeOf(source.subscribe('a://2'))]
    await pass()
    expect((await granted).envelope.result).toBeDefined()
    expect(await refused).toBe('SUBSCRIPTION_REFUSED')
    await pass(60_000)
    expect(filters(), 'it is not asked for again').toHaveLength(1)
    await close()
  })

  it('reopens after the server ended it, each time after a longer delay', async () => {
    const { transport, listens, pass, close } = await listening()
    await pass()
    for (const delay of [1_000, 2_000, 4_000]) {
      const before = listens().length
      transport.answer(listens().at(-1)?.id)
      await pass(delay)
      expect(listens()).toHaveLength(before)
      await pass(GATHER)
      expect(listens()).toHaveLength(before + 1)
    }
    await pass(60_001)
    const before = listens().length
    transport.answer(listens().at(-1)?.id)
    await pass(1_000 + GATHER)
    expect(listens(), 'one that lasted is followed soon').toHaveLength(before + 1)
    await close()
  })

  it.each([
    [
      'cut off',
      (transport: MemoryTransport, id: number) => transport.fail(id, new SallyportError('UPSTREAM_DIED', 'cut')),
    ],
    [
      'cancelled',
      (transport: MemoryTransport, id: number) =>
        transport.emit({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }),
    ],
  ])('reopens after it was %s, with everything that was granted', async (_title, end) => {
    const { source, transport, listens, filters, pass, close } = await listening()
    const asked = source.subscribe('a://1')
    await pass()
    await asked
    end(transport, Number(listens()[0]?.id))
    await pass(1_000 + GATHER)
    expect(filters()[1]).toMatchObject({ resourceSubscriptions: ['a://1'] })
    await close()
  })

  it('does not retry after a refusal, passes the refusal on, and asks again only for a client', async () => {
    const { source, filters, troubles, dropped, pass, close } = await listening({
      serve: ({ id }, server) => server.refuse(id, -32603, 'Subscription limit reached'),
    })
    await pass(600_000)
    expect(filters()).toHaveLength(1)
    expect(troubles).toEqual([expect.stringContaining('Subscription limit reached')])
    const asked = source.subscribe('a://1')
    await pass()
    expect((await asked).envelope.error).toBeDefined()
    expect(dropped).toEqual([])
    await pass(600_000)
    expect(filters()).toHaveLength(2)
    await close()
  })

  it('keeps its subscriptions if the server refuses more', async () => {
    let served = 0
    const { source, listens, cancelled, dropped, pass, close } = await listening({
      serve: (message, server) => (served++ === 0 ? acknowledge(message, server) : server.refuse(message.id)),
    })
    const first = source.subscribe('a://1')
    await pass()
    await first
    const second = source.subscribe('a://2')
    await pass()
    expect((await second).envelope.error).toBeDefined()
    expect([cancelled(), dropped, listens().length]).toEqual([[], [], 2])
    await close()
  })

  it('reports which resources are lost if the server grants less than before', async () => {
    let served = 0
    const { source, transport, listens, dropped, troubles, pass, close } = await listening({
      serve: (message, server) =>
        acknowledge(message, server, served++ === 0 ? filterOf(message) : { resourceSubscriptions: ['a://2'] }),
    })
    const asked = [source.subscribe('a://1'), source.subscribe('a://2')]
    await pass()
    await Promise.all(asked)
    transport.answer(listens()[0]?.id)
    await pass(1_000 + GATHER)
    expect(dropped).toEqual(['a://1'])
    expect(troubles).toHaveLength(1)
    await close()
  })

  it('does not retry if the server grants nothing and ends it', async () => {
    const { listens, pass, close } = await listening({
      serve: (message, server) => {
        acknowledge(message, server, {})
        server.answer(message.id)
      },
    })
    await pass(600_000)
    expect(listens()).toHaveLength(1)
    await close()
  })

  it('still reports changed lists if the server never acknowledges, and refuses resources after a timeout', async () => {
    const { source, listens, cancelled, pass, close } = await listening({ serve: () => {} })
    await pass(TIMEOUT_MS + GATHER)
    const asked = codeOf(source.subscribe('a://1'))
    await pass(GATHER + TIMEOUT_MS)
    expect(await asked).toBe('UPSTREAM_TIMEOUT')
    expect(cancelled()).toEqual([listens()[1]?.id])
    await close()
  })

  it('answers waiting callers when it is closed, and leaves no timer', async () => {
    const { source, pass, close } = await listening({ serve: () => {} })
    const early = codeOf(source.subscribe('a://1'))
    await pass()
    const late = codeOf(source.subscribe('a://2'))
    await close()
    expect([await early, await late]).toEqual(['UPSTREAM_DIED', 'UPSTREAM_DIED'])
  })
})
