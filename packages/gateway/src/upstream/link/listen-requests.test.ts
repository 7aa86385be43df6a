import { isJsonObject, type JsonObject, META } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { MemoryTransport, type ReceivedMessage } from '../memory-transport.test-kit.ts'
import { GATEWAY_PERMIT } from '../permit.ts'
import type { HandshakeResult } from './handshake.ts'
import { Link } from './link.ts'
import { ListenRequests } from './listen-requests.ts'

const GATHER = 20
const BY_GATEWAY = { by: undefined, permit: GATEWAY_PERMIT }

/** A server that grants everything. */
async function listening(capabilities: HandshakeResult['capabilities'] = { tools: {} }) {
  const transport = new MemoryTransport({
    serve: (message, server) => message.method === 'subscriptions/listen' && acknowledge(message, server),
  })
  const link = new Link(
    transport,
    {
      onNotification: (notification) => void source.consumes(notification),
      onQuestion: () => {},
      onWarning: () => {},
      onDropped: () => {},
      onClose: () => {},
    },
    { clientInfo: {}, capabilities: {} },
  )
  await link.open()
  const source = new ListenRequests({
    ...{ link, handshake: { capabilities }, timeoutMs: 10_000 },
    onWarning: () => {},
    onDropped: () => {},
  })
  const received = (name: string): readonly ReceivedMessage[] =>
    transport.received.filter(({ method }) => method === name)
  const filters = (): readonly unknown[] => received('subscriptions/listen').map(({ params }) => params?.notifications)
  const cancelled = (): readonly unknown[] => received('notifications/cancelled').map(({ params }) => params?.requestId)
  const pass = async (): Promise<void> => void (await vi.advanceTimersByTimeAsync(GATHER))
  const subscribe = async (...uris: readonly string[]): Promise<void> => {
    const asked = uris.map((uri) => source.subscribe(uri, BY_GATEWAY))
    await pass()
    await Promise.all(asked)
  }
  const close = async (): Promise<void> => {
    source.close()
    await link.close()
    await pass()
  }
  return { source, listens: () => received('subscriptions/listen'), filters, cancelled, pass, subscribe, close }
}

function acknowledge(message: ReceivedMessage, server: MemoryTransport): void {
  const { notifications } = message.params ?? {}
  const params = {
    notifications: isJsonObject(notifications) ? notifications : ({} as JsonObject),
    _meta: { [META.subscriptionId]: message.id ?? null },
  }
  server.emit({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params })
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

describe(`listening for changes of a modern server (${promise('GW-17')})`, () => {
  it('asks for the lists that the server has', async () => {
    const { filters, pass, close } = await listening({ tools: {}, prompts: {}, logging: {} })
    await pass()
    expect(filters()).toEqual([{ toolsListChanged: true, promptsListChanged: true }])
    await close()
  })

  it('asks a server that has no lists for nothing', async () => {
    const { filters, pass, close } = await listening({ completions: {} })
    await pass()
    expect(filters()).toEqual([])
    await close()
  })

  it('never ends a request for something that another one asks for, too', async () => {
    const { source, listens, filters, cancelled, pass, subscribe, close } = await listening()
    await pass()
    await subscribe('a://1', 'a://2')
    await subscribe('a://3')
    expect(filters()).toEqual([
      { toolsListChanged: true },
      { resourceSubscriptions: ['a://1', 'a://2'] },
      { resourceSubscriptions: ['a://3'] },
    ])
    await source.unsubscribe('a://1')
    expect(cancelled()).toEqual([])
    await source.unsubscribe('a://2')
    expect(cancelled()).toEqual([listens()[1]?.id])
    await close()
  })

  it('has no more requests for resources than eight', async () => {
    const { filters, cancelled, listens, pass, subscribe, close } = await listening()
    await pass()
    for (let number = 1; number <= 9; number++) await subscribe(`a://${number}`)
    expect(filters().at(-1)).toEqual({ resourceSubscriptions: ['a://8', 'a://9'] })
    expect(cancelled()).toEqual([listens()[8]?.id])
    await close()
  })

  it('sends what it has collected before the next call', async () => {
    const { source, filters, pass, close } = await listening()
    await pass()
    const asked = source.subscribe('a://1', BY_GATEWAY)
    source.flush()
    await asked
    expect(filters()).toHaveLength(2)
    await close()
  })
})
