import { EventEmitter, once } from 'node:events'
import type { SallyportEvent } from '@sallyport/core'
import { afterEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { StdioServerConfig } from '../config/settings.ts'
import { codeOf } from './memory-transport.test-kit.ts'
import { GATEWAY_PERMIT } from './permit.ts'
import { countMarked, freshMark, hostileConfig, stdioConfig } from './stdio/stdio.test-kit.ts'
import { openUpstream, openWatchdog, type ServerCatalog, type Upstream } from './upstream.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** A real process behind this room's door, and its events. */
function openServer(config: StdioServerConfig) {
  const runMark = freshMark()
  const watchdog = openWatchdog({ runMark, environment: process.env })
  const changes = new EventEmitter()
  const events: SallyportEvent[] = []
  const catalogs: ServerCatalog[] = []
  const listener = {
    onCatalog: (catalog: ServerCatalog) => {
      catalogs.push(catalog)
      changes.emit('change')
    },
    onEvent: (event: SallyportEvent) => {
      events.push(event)
      changes.emit('change')
    },
  }
  const upstream = openUpstream(config, listener, {
    clientInfo: { name: 'test', version: '1' },
    environment: process.env,
    watchdog,
    runMark,
    lastKnown: () => undefined,
    now: () => Date.now(),
    random: () => 0,
  })
  closers.push(async () => {
    await upstream.close()
    await watchdog.close()
    expect(countMarked(runMark), 'processes that were left').toBe(0)
  })
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await once(changes, 'change')
  }
  return { upstream, events, catalogs, until }
}

const call = (upstream: Upstream, name: string, session = 's') =>
  upstream.request({ method: 'tools/call', params: { name, arguments: {} }, name, session, permit: GATEWAY_PERMIT })
const textOf = async (upstream: Upstream, name: string, session?: string): Promise<string> => {
  const { frame } = await call(upstream, name, session)
  return JSON.parse(Buffer.concat(frame.parts).toString()).result.content[0].text as string
}

describe('a server that is a process', () => {
  it(`is started again after it died in a call, and that call fails (${promise('GW-4')})`, async () => {
    const { upstream, events, until } = openServer(hostileConfig())
    const before = await textOf(upstream, 'pid')
    expect(await codeOf(call(upstream, 'kill-self'))).toBe('UPSTREAM_DIED')
    await until(() => events.some(({ type }) => type === 'UPSTREAM_RESTARTED'))
    expect(await textOf(upstream, 'pid')).not.toBe(before)
    expect(events.find(({ type }) => type === 'UPSTREAM_LOST')).toMatchObject({
      reason: expect.stringContaining('SIGKILL'),
    })
  })

  it('that prints a secret before it exits is not quoted with it, wherever its exit is reported', async () => {
    const script = 'console.error("bad key", process.env.KEY, process.argv[1]); process.exit(1)'
    const config = stdioConfig({
      args: ['-e', script, 'argument-of-a-variable'],
      env: { KEY: 'key-in-clear-text' },
      fromVariables: ['argument-of-a-variable'],
    })
    const { upstream, events, until } = openServer(config)
    upstream.start()
    await until(() => events.some(({ type }) => type === 'UPSTREAM_LOST'))
    const output = JSON.stringify([events, upstream.status()])
    expect(output).toContain('bad key ••• •••')
    expect(output).not.toMatch(/clear-text|argument-of/)
  })

  it('that cannot start says why, and is left alone after six attempts', async () => {
    const { upstream, events, until } = openServer(hostileConfig('exit-at-start=7'))
    upstream.start()
    await until(() => events.filter(({ type }) => type === 'UPSTREAM_LOST').length === 6)
    expect(upstream.status()).toMatchObject({ state: 'broken', reason: expect.stringContaining('code 7') })
    expect(await codeOf(call(upstream, 'echo'))).toBe('UPSTREAM_BROKEN')
  })

  it(`cannot answer another call, answer twice, or answer with invented ids (${promise('GW-20')})`, async () => {
    const { upstream } = openServer(hostileConfig('garbage'))
    const [twice, wrong, echo] = await Promise.all(['twice', 'wrong-id', 'echo'].map((name) => textOf(upstream, name)))
    expect(echo).toBe('{}')
    expect(twice).not.toBe(echo)
    expect(wrong).not.toBe(twice)
    expect(upstream.status().state).toBe('ready')
  })

  it(`offers its other tools beside an invalid one (${promise('GW-19')})`, async () => {
    const { upstream, catalogs, until } = openServer(hostileConfig('bad-tool'))
    upstream.start()
    await until(() => catalogs.length === 1)
    expect(catalogs[0]?.tools.map(({ name }) => name)).not.toContain('tool-50')
    expect(catalogs[0]?.tools.length).toBeGreaterThanOrEqual(99)
    expect(catalogs[0]?.leftOut.map(({ name }) => name)).toEqual(['tool-50'])
  })

  it('survives many announcements of changed lists', async () => {
    const { upstream, catalogs, until } = openServer(hostileConfig('list-changed-storm=1000'))
    upstream.start()
    await until(() => catalogs.length >= 2)
    expect(await textOf(upstream, 'echo')).toBe('{}')
    expect(catalogs.length).toBeLessThan(10)
  })

  it(`has one process for each session if the entry says so (${promise('GW-5')})`, async () => {
    const { upstream } = openServer({ ...hostileConfig(), per: 'session' })
    const [one, other, again] = [
      await textOf(upstream, 'pid', 'a'),
      await textOf(upstream, 'pid', 'b'),
      await textOf(upstream, 'pid', 'a'),
    ]
    expect(one).toBe(again)
    expect(one).not.toBe(other)
  })

  it('leaves nothing behind when it is closed in the middle of its start', async () => {
    for (const config of [
      hostileConfig('never-initialize'),
      hostileConfig('start-after=/nowhere'),
      hostileConfig('grandchildren', 'ignore-term'),
    ]) {
      const { upstream } = openServer(config)
      upstream.start()
      await closers.pop()?.()
    }
  })
})
