import type { SallyportEvent } from '@sallyport/core'
import { afterEach, beforeEach, expect, vi } from 'vitest'
import type { Timeouts } from '../config/settings.ts'
import { DroppedMessages } from './link/dropped-messages.ts'
import type { ClientCall } from './link/outgoing-call.ts'
import { createServerHandler, MemoryTransport, type ServerScript } from './memory-transport.test-kit.ts'
import { GATEWAY_PERMIT } from './permit.ts'
import { DEFAULT_RESTART_POLICY } from './restart-policy.ts'
import type { ServerCatalog } from './server-catalog.ts'
import { ServerConnection, type ServerConnectionOptions } from './server-connection.ts'
import { StderrTail } from './stderr-tail.ts'
import { stdioConfig } from './stdio/stdio.test-kit.ts'

export const TIMEOUTS: Timeouts = { startup: 30_000, call: 60_000, callMaximum: 600_000, idle: undefined }

interface Bench {
  readonly era?: 'auto' | 'legacy' | 'modern'
  readonly enabled?: boolean
  readonly timeouts?: Partial<Timeouts>
  readonly options?: Partial<ServerConnectionOptions>
  /** The servers of each connection in turn; the last one is used for all further ones. */
  readonly transports?: readonly (() => MemoryTransport)[]
}

/** A connection to servers whose other end is the test. */
export function bench({ era = 'legacy', enabled = true, timeouts = {}, options = {}, transports }: Bench = {}) {
  const opened: MemoryTransport[] = []
  const events: SallyportEvent[] = []
  const catalogs: ServerCatalog[] = []
  const plans = transports ?? [() => new MemoryTransport({ serve: createServerHandler() })]
  const upstream = new ServerConnection({
    config: stdioConfig({ id: 'memory', era, enabled, timeouts: { ...TIMEOUTS, ...timeouts } }),
    createTransport: () => {
      const transport = (plans[Math.min(opened.length, plans.length - 1)] as () => MemoryTransport)()
      opened.push(transport)
      return transport
    },
    messages: new StderrTail(),
    dropped: new DroppedMessages({ server: 'memory', onEvent: (event) => events.push(event) }),
    listener: {
      onCatalog: (catalog) => void catalogs.push(catalog),
      onEvent: (event) => void events.push(event),
    },
    identity: { clientInfo: { name: 'test' }, capabilities: {} },
    onQuestion: () => {},
    policy: DEFAULT_RESTART_POLICY,
    now: () => Date.now(),
    random: () => 0.5,
    knownEra: undefined,
    ...options,
  })
  const call = (changes: Partial<ClientCall> = {}) =>
    upstream.request({
      method: 'tools/call',
      params: {},
      name: 'echo',
      session: 's',
      permit: GATEWAY_PERMIT,
      ...changes,
    })
  return {
    upstream,
    opened,
    events,
    catalogs,
    call,
    at: (index: number) => opened[index] as MemoryTransport,
  }
}

export const scripted = (script?: ServerScript) => () => new MemoryTransport({ serve: createServerHandler(script) })
export const silent = () => new MemoryTransport()

/** Runs everything that promises can do without the passing of time. */
export const settle = (): Promise<void> => vi.advanceTimersByTimeAsync(0).then(() => undefined)

/** Timers wait for the test, and none may be left. */
export function controlTimers(): void {
  const unhandled: unknown[] = []
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason)

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
    process.on('unhandledRejection', onUnhandled)
  })
  afterEach(async () => {
    expect(vi.getTimerCount(), 'timers that were left').toBe(0)
    vi.useRealTimers()
    await new Promise(setImmediate)
    process.off('unhandledRejection', onUnhandled)
    expect(unhandled.splice(0)).toEqual([])
  })
}
