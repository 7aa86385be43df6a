import type { SallyportEvent } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { Timeouts } from '../config/settings.ts'
import { DroppedMessages } from './link/dropped-messages.ts'
import {
  createServerHandler,
  MemoryTransport,
  type ReceivedMessage,
  type ServerScript,
} from './memory-transport.test-kit.ts'
import { GATEWAY_PERMIT } from './permit.ts'
import { DEFAULT_RESTART_POLICY } from './restart-policy.ts'
import { ServerConnection } from './server-connection.ts'
import { StderrTail } from './stderr-tail.ts'
import { stdioConfig } from './stdio/stdio.test-kit.ts'

const EVERY = 1_000

async function bench(script: ServerScript, timeouts: Partial<Timeouts> = {}) {
  const events: SallyportEvent[] = []
  const opened: MemoryTransport[] = []
  const all = { startup: 30_000, call: 60_000, callMaximum: 600_000, idle: undefined, health: EVERY, ...timeouts }
  const era = script.era ?? 'legacy'
  const upstream = new ServerConnection({
    config: stdioConfig({ id: 'memory', era, timeouts: all }),
    createTransport: () => {
      opened.push(new MemoryTransport({ serve: createServerHandler(script) }))
      return opened.at(-1) as MemoryTransport
    },
    messages: new StderrTail(),
    dropped: new DroppedMessages({ server: 'memory', onEvent: () => {} }),
    listener: { onCatalog: () => {}, onEvent: (event) => void events.push(event) },
    identity: { clientInfo: { name: 'test' }, capabilities: {} },
    onQuestion: () => {},
    policy: DEFAULT_RESTART_POLICY,
    now: () => Date.now(),
    random: () => 0.5,
    knownEra: undefined,
  })
  upstream.start()
  await vi.advanceTimersByTimeAsync(0)
  const countReceived = (method: string): number =>
    opened.flatMap((transport) => transport.received).filter((message) => message.method === method).length
  return { upstream, opened, countReceived, types: () => events.map(({ type }) => type) }
}

const replied = ({ id }: ReceivedMessage, server: MemoryTransport): void => server.answer(id)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] })
})
afterEach(() => {
  expect(vi.getTimerCount(), 'timers that were left').toBe(0)
  vi.useRealTimers()
})

describe(`the health check of a server (${promise('GOV-24')})`, () => {
  it.each([
    ['legacy', 'ping'],
    ['modern', 'server/discover'],
  ] as const)('asks an idle %s server with %s', async (era, method) => {
    const { upstream, countReceived } = await bench({ era })
    const before = countReceived(method)
    await vi.advanceTimersByTimeAsync(3 * EVERY)
    // The first time it may have been used a moment ago.
    expect(countReceived(method) - before).toBeGreaterThanOrEqual(2)
    expect(upstream.status().health).toMatchObject({ isHealthy: true })
    await upstream.close()
  })

  it('creates an event only if its result changes', async () => {
    let isSilent = false
    const answers = {
      ping: (message: ReceivedMessage, server: MemoryTransport) => (isSilent ? undefined : replied(message, server)),
    }
    const { upstream, types } = await bench({ answers })
    await vi.advanceTimersByTimeAsync(3 * EVERY)
    expect(types()).toEqual(['UPSTREAM_CONNECTED'])
    isSilent = true
    await vi.advanceTimersByTimeAsync(5 * EVERY)
    expect(types()).toEqual(['UPSTREAM_CONNECTED', 'UPSTREAM_UNHEALTHY'])
    expect(upstream.status()).toMatchObject({ state: 'ready', health: { isHealthy: false } })
    expect(upstream.status().messages.join()).toContain('the health check failed: No answer to ping')
    isSilent = false
    await vi.advanceTimersByTimeAsync(3 * EVERY)
    expect(types()).toEqual(['UPSTREAM_CONNECTED', 'UPSTREAM_UNHEALTHY', 'UPSTREAM_HEALTHY'])
    await upstream.close()
  })

  it('sends nothing to a server that is in use', async () => {
    const { upstream, countReceived } = await bench({})
    for (let call = 0; call < 5; call++) {
      await upstream.request({ method: 'tools/call', params: {}, name: 'echo', session: 's', permit: GATEWAY_PERMIT })
      await vi.advanceTimersByTimeAsync(EVERY * 0.9)
    }
    expect(countReceived('ping')).toBe(0)
    await upstream.close()
  })

  it('does not prevent a server from becoming idle, and starts none', async () => {
    const { upstream, opened } = await bench({ answers: { ping: replied } }, { idle: 3.5 * EVERY })
    await vi.advanceTimersByTimeAsync(10 * EVERY)
    expect(upstream.status().state).toBe('stopped')
    expect(opened).toHaveLength(1)
    await upstream.close()
  })

  it('is not run if the entry disables it', async () => {
    const { upstream, countReceived } = await bench({}, { health: undefined })
    await vi.advanceTimersByTimeAsync(100 * EVERY)
    expect(countReceived('ping')).toBe(0)
    await upstream.close()
  })
})
