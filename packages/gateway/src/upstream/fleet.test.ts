import type { SallyportEvent } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { ServerConfig } from '../config/settings.ts'
import { Fleet } from './fleet.ts'
import type { ServerCatalog } from './server-catalog.ts'
import { stdioConfig } from './stdio/stdio.test-kit.ts'
import type { Upstream, UpstreamListener } from './upstream-interface.ts'

interface Opened {
  readonly config: ServerConfig
  readonly listener: UpstreamListener
  started: number
  closed: number
}

function openFleet(known: readonly string[] = []) {
  const opened: Opened[] = []
  const catalogs: string[] = []
  const events: SallyportEvent[] = []
  const closing: Promise<void>[] = []
  const fleet = new Fleet({
    open: (config, listener) => {
      const one: Opened = { config, listener, started: 0, closed: 0 }
      opened.push(one)
      return {
        config,
        start: () => void one.started++,
        status: () => ({ id: config.id, state: 'restarting', reason: 'it exited with 1' }),
        close: async () => {
          one.closed++
          await Promise.all(closing)
        },
      } as Upstream
    },
    listener: {
      onCatalog: (server) => void catalogs.push(server),
      onEvent: (event) => void events.push(event),
    },
    isKnown: (server) => known.includes(server),
    now: () => Date.now(),
  })
  const of = (id: string): Opened => opened.findLast(({ config }) => config.id === id) as Opened
  return { fleet, opened, catalogs, events, closing, of }
}

const configs = (...ids: readonly string[]): readonly ServerConfig[] => ids.map((id) => stdioConfig({ id }))
const NONE: ReadonlySet<string> = new Set()
const LOST = { type: 'UPSTREAM_LOST', server: 'a', reason: 'gone' } as const
const WANTS_LOGIN = { type: 'UPSTREAM_NEEDS_LOGIN', server: 'a', reason: 'it answered 401' } as const

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

describe('the server of a call', () => {
  it('is waited for until the servers are started, and no longer afterwards', async () => {
    const { fleet } = openFleet()
    const [coming, unknown] = [fleet.find('a'), fleet.find('nobody')]
    fleet.applyConfig(configs('a'), NONE)
    expect(await coming).toBe(fleet.get('a'))
    expect(await unknown).toBeUndefined()
    expect(fleet.find('a')).toBe(fleet.get('a'))
    expect(fleet.find('nobody')).toBeUndefined()
    await fleet.close()
  })

  it('is started when it is needed', async () => {
    const { fleet } = openFleet(['a'])
    const starting = fleet.waitForStart('calm').then(() => fleet.applyConfig(configs('a'), NONE))
    expect(await fleet.find('a')).toBe(fleet.get('a'))
    await starting
    await fleet.waitUntilConfigured()
    await fleet.close()
  })

  it('is not started any more once all are closed', async () => {
    const { fleet } = openFleet()
    const coming = fleet.find('a')
    await fleet.close()
    expect(await coming).toBeUndefined()
  })
})

describe(`a changed configuration (${promise('GW-12')})`, () => {
  it('starts new servers, stops removed ones, restarts changed ones and affects no others', async () => {
    const { fleet, opened, of } = openFleet()
    expect(fleet.applyConfig(configs('stays', 'goes', 'changes'), NONE)).toEqual({
      added: ['stays', 'goes', 'changes'],
      removed: [],
      restarted: [],
    })
    const stays = fleet.get('stays')
    const changed = stdioConfig({ id: 'changes', args: ['other'] })
    expect(fleet.applyConfig([...configs('comes', 'stays'), changed], NONE)).toEqual({
      added: ['comes'],
      removed: ['goes'],
      restarted: ['changes'],
    })
    expect(fleet.get('stays')).toBe(stays)
    expect(of('stays')).toMatchObject({ started: 1, closed: 0 })
    expect(of('goes').closed).toBe(1)
    expect(opened.filter(({ config }) => config.id === 'changes').map(({ closed }) => closed)).toEqual([1, 0])
    expect(fleet.get('goes')).toBeUndefined()
    await fleet.close()
  })

  it('leaves the gateway’s own servers alone', async () => {
    const { fleet } = openFleet()
    let closed = 0
    const own = fleet.add(
      'sallyport',
      () => ({ config: stdioConfig(), start: () => {}, close: async () => void closed++ }) as unknown as Upstream,
    )
    fleet.applyConfig([], new Set(['sallyport']))
    expect(fleet.get('sallyport')).toBe(own)
    await fleet.close()
    expect(closed).toBe(1)
  })
})

describe(`waiting for servers without a known catalog (${promise('GW-3')})`, () => {
  it('ends when all of them have reported or failed', async () => {
    const { fleet, of } = openFleet()
    fleet.applyConfig(configs('a', 'b'), NONE)
    let known = false
    const waiting = fleet.waitUntilKnown(1_000)?.then(() => (known = true))
    of('b').listener.onCatalog({} as ServerCatalog)
    await vi.advanceTimersByTimeAsync(0)
    expect(known).toBe(false)
    of('a').listener.onEvent(LOST)
    await waiting
    expect(fleet.waitUntilKnown(1_000)).toBeUndefined()
    await fleet.close()
  })

  it('ends when the last of them requires a login, which is an outcome too', async () => {
    const { fleet, of, events } = openFleet()
    fleet.applyConfig(configs('a'), NONE)
    const waiting = fleet.waitUntilKnown(60_000)
    of('a').listener.onEvent(WANTS_LOGIN)
    expect(fleet.waitUntilKnown(60_000)).toBeUndefined()
    await waiting
    expect(events).toEqual([WANTS_LOGIN])
    await fleet.close()
  })

  it('ends after its timeout, counted from their start, and then nobody waits again', async () => {
    const { fleet } = openFleet()
    fleet.applyConfig(configs('silent'), NONE)
    await vi.advanceTimersByTimeAsync(600)
    let known = false
    void fleet.waitUntilKnown(1_000)?.then(() => (known = true))
    await vi.advanceTimersByTimeAsync(399)
    expect(known).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(known).toBe(true)
    expect(fleet.waitUntilKnown(1_000)).toBeUndefined()
    await fleet.close()
  })

  it('takes no longer if the system clock is changed meanwhile', async () => {
    const { fleet } = openFleet()
    fleet.applyConfig(configs('silent'), NONE)
    await vi.advanceTimersByTimeAsync(600)
    vi.setSystemTime(Date.now() - 3_600_000)
    let known = false
    void fleet.waitUntilKnown(1_000)?.then(() => (known = true))
    await vi.advanceTimersByTimeAsync(400)
    expect(known).toBe(true)
    vi.setSystemTime(Date.now() - 3_600_000)
    expect(fleet.waitUntilKnown(1_000)).toBeUndefined()
    await fleet.close()
  })

  it('does not begin for servers that are known from before, disabled, or removed', async () => {
    const { fleet } = openFleet(['known'])
    fleet.applyConfig([...configs('known'), stdioConfig({ id: 'off', enabled: false })], NONE)
    expect(fleet.waitUntilKnown(1_000)).toBeUndefined()
    fleet.applyConfig(configs('known', 'new'), NONE)
    const waiting = fleet.waitUntilKnown(1_000)
    fleet.applyConfig(configs('known'), NONE)
    await waiting
    await fleet.close()
  })

  it('ends when everything is closed', async () => {
    const { fleet } = openFleet()
    fleet.applyConfig(configs('silent'), NONE)
    const waiting = fleet.waitUntilKnown(60_000)
    await fleet.close()
    await waiting
  })

  it('ends when everything is closed before the servers were opened', async () => {
    const { fleet } = openFleet()
    fleet.expect(['silent', 'slow'])
    const waiting = fleet.waitUntilKnown(60_000)
    await fleet.close()
    await waiting
    expect(fleet.waitUntilKnown(60_000)).toBeUndefined()
  })
})

describe(`a tool of a server that has not started (${promise('GW-4')})`, () => {
  it('is recognized by its name, in any spelling, and by the longest matching server id', async () => {
    const { fleet } = openFleet(['known'])
    fleet.applyConfig(configs('a', 'a-b', 'known'), NONE)
    for (const name of ['a-b/read', 'mcp__a-b__read', 'a_b_read'])
      expect(fleet.findAbsentServer(name)).toMatchObject({
        server: 'a-b',
        refusal: { code: 'UPSTREAM_RESTARTING', message: 'Server a-b is restarting: it exited with 1.' },
      })
    expect(fleet.findAbsentServer('a_read')).toMatchObject({ server: 'a' })
    for (const name of ['read', 'ab_read', 'known_read', 'a', '']) expect(fleet.findAbsentServer(name)).toBeUndefined()
    expect(fleet.findAbsentServer('mcp_a_b_read')).toMatchObject({ server: 'a-b' })
    await fleet.close()
    expect(fleet.findAbsentServer('a_read')).toBeUndefined()
  })

  it('has no prefix with bare names', async () => {
    const { fleet } = openFleet()
    fleet.applyConfig(configs('a'), NONE)
    expect(fleet.findAbsentServer('read', 'bare')).toMatchObject({ server: 'a' })
    await fleet.close()
  })

  it('is starting before its server was opened', async () => {
    const { fleet } = openFleet()
    fleet.expect(['a'])
    const starting = { server: 'a', refusal: { code: 'UPSTREAM_STARTING', message: 'Server a is starting.' } }
    expect(fleet.findAbsentServer('a_read')).toMatchObject(starting)
    expect(fleet.findStartingServer()).toMatchObject(starting)
    await fleet.close()
    expect(fleet.findStartingServer()).toBeUndefined()
  })
})

describe(`closing the fleet (${promise('GW-6')})`, () => {
  it('waits for all servers, and for those that were already closing', async () => {
    const { fleet, closing, opened } = openFleet()
    fleet.applyConfig(configs('a', 'b'), NONE)
    let gone = (): void => {}
    closing.push(new Promise((resolve) => (gone = resolve)))
    fleet.applyConfig(configs('a'), NONE)
    let closed = false
    const done = fleet.close().then(() => (closed = true))
    await vi.advanceTimersByTimeAsync(0)
    expect(closed).toBe(false)
    gone()
    await done
    expect(opened.map((one) => one.closed)).toEqual([1, 1])
    expect(fleet.all()).toEqual([])
  })

  it('passes on the events of servers, each with its server id', async () => {
    const { fleet, of, catalogs, events } = openFleet()
    fleet.applyConfig(configs('a'), NONE)
    of('a').listener.onCatalog({} as ServerCatalog)
    of('a').listener.onEvent(LOST)
    expect([catalogs, events]).toEqual([['a'], [LOST]])
    await fleet.close()
  })
})
