import { Cancellation, SallyportError } from '@sallyport/core'
import { describe, expect, it, vi } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import {
  codeOf,
  createServerHandler,
  MemoryTransport,
  type ReceivedMessage,
  type ServerScript,
  toolNamed,
} from './memory-transport.test-kit.ts'
import { TestPermit } from './permit.test-kit.ts'
import { ResourceSubscription } from './resource-subscription.ts'
import { DEFAULT_RESTART_POLICY } from './restart-policy.ts'
import { bench, controlTimers, scripted, settle, silent, TIMEOUTS } from './server-connection.test-kit.ts'

controlTimers()

const replied = ({ id }: ReceivedMessage, server: MemoryTransport): void => server.answer(id)

describe('a request that must wait before it can be sent', () => {
  const client = {
    ...({ era: 'legacy', capabilities: {}, clientInfo: undefined, conversation: undefined } as const),
    ...{ answersInCall: true, ask: async () => ({ result: {} }), notify: () => {} },
  }
  const logging = { capabilities: { tools: {}, logging: {} } }

  it(`needs a valid permit after the log level was set (${promise('GOV-13')})`, async () => {
    const levels: ReceivedMessage[] = []
    const answers = { 'logging/setLevel': (message: ReceivedMessage) => void levels.push(message) }
    const { upstream, at, call } = bench({ transports: [scripted({ ...logging, answers })] })
    await call()
    const permit = new TestPermit()
    const calling = codeOf(call({ client: { ...client, logLevel: 'debug' }, permit }))
    await at(0).waitForMessage('logging/setLevel')
    permit.becomeStale()
    at(0).answer(levels[0]?.id)
    expect(await calling).toBe('MODE_FORBIDS')
    expect(at(0).received.filter(({ method }) => method === 'tools/call')).toHaveLength(1)
    await upstream.close()
  })

  it('is not rechecked if nothing has changed', async () => {
    const { upstream, call } = bench()
    const permit = new TestPermit()
    expect(await codeOf(call({ permit }))).toBe('no error')
    expect([permit.timesSent, permit.timesRenewed]).toEqual([1, 0])
    await upstream.close()
  })
})

describe(`starting a server (${promise('GW-3')})`, () => {
  it('makes it ready, reports its catalog, and accepts calls', async () => {
    const { upstream, events, catalogs, call } = bench()
    expect(upstream.status().state).toBe('stopped')
    upstream.start()
    upstream.start()
    expect(upstream.status().state).toBe('starting')
    const { frame, era } = await call({ params: { arguments: { a: 1 } } })
    expect(Buffer.concat(frame.parts).toString()).toContain('{\\"a\\":1}')
    expect(era).toBe('legacy')
    expect(upstream.status()).toMatchObject({ state: 'ready', era: 'legacy', reason: undefined, restarts: 0 })
    expect(catalogs.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['echo']])
    expect(events.map(({ type }) => type)).toEqual(['UPSTREAM_CONNECTED'])
    await upstream.close()
  })

  it('happens with the first call if nobody started it', async () => {
    const { upstream, call } = bench()
    await call()
    expect(upstream.status().state).toBe('ready')
    await upstream.close()
  })

  it('never happens to a disabled one', async () => {
    const { upstream, opened, call } = bench({ enabled: false })
    upstream.start()
    expect(await codeOf(call())).toBe('UPSTREAM_DISABLED')
    expect(opened).toEqual([])
    await upstream.close()
  })

  it('keeps calls waiting no longer than the startup timeout', async () => {
    const { upstream, call } = bench({ transports: [() => new MemoryTransport({ open: () => new Promise(() => {}) })] })
    const waiting = codeOf(call())
    await vi.advanceTimersByTimeAsync(TIMEOUTS.startup)
    expect(await waiting).toBe('UPSTREAM_STARTING')
    await upstream.close()
  })

  it('rejects a cancelled call at once, and does not send it when the server is ready', async () => {
    let open = (): void => {}
    const slow = () =>
      new MemoryTransport({ open: () => new Promise((resolve) => (open = resolve)), serve: createServerHandler() })
    const { upstream, at, call } = bench({ transports: [slow] })
    const cancellation = new Cancellation()
    const cancelled = codeOf(call({ cancellation }))
    const other = call()
    cancellation.cancel('the client went away')
    expect(await cancelled).toBe('CALL_CANCELLED')
    open()
    await other
    expect(at(0).received.filter(({ method }) => method === 'tools/call')).toHaveLength(1)
    await upstream.close()
  })

  it('survives a transport that cannot be created', async () => {
    const createTransport = (): MemoryTransport => {
      throw new Error('no such kind')
    }
    const { upstream, call } = bench({ options: { createTransport } })
    expect(await codeOf(call())).toBe('UPSTREAM_RESTARTING')
    expect(upstream.status().reason).toContain('no such kind')
    await upstream.close()
  })

  it('reports that the server requires a login, and rechecks later', async () => {
    const refusal = new SallyportError('UPSTREAM_NEEDS_LOGIN', 'It wants a login.')
    const { upstream, opened, events, call } = bench({
      transports: [() => new MemoryTransport({ open: () => Promise.reject(refusal) }), scripted()],
    })
    expect(await codeOf(call())).toBe('UPSTREAM_NEEDS_LOGIN')
    expect(upstream.status()).toMatchObject({ state: 'needs-login', retryAt: expect.any(Number) })
    expect(opened[0]?.closed).toBe(1)
    expect(events).toEqual([{ type: 'UPSTREAM_NEEDS_LOGIN', server: 'memory', reason: 'It wants a login.' }])
    await vi.advanceTimersByTimeAsync(DEFAULT_RESTART_POLICY.probeInterval)
    await call()
    expect(upstream.status().state).toBe('ready')
    await upstream.close()
  })
})

describe('finding the era of a server', () => {
  it('probes, and falls back to the legacy handshake', async () => {
    const { upstream, at, call } = bench({ era: 'auto' })
    await call()
    expect(at(0).received[0]?.method).toBe('server/discover')
    expect(upstream.status().era).toBe('legacy')
    await upstream.close()
  })

  it('skips the probe if the era is known from before', async () => {
    const { upstream, at, call } = bench({ era: 'auto', options: { knownEra: 'legacy' } })
    await call()
    expect(at(0).received[0]?.method).toBe('initialize')
    await upstream.close()
  })

  it('restarts a server that the probe crashes, and does not count that crash', async () => {
    const fragile = () => new MemoryTransport({ serve: (_, server) => server.die() })
    const { upstream, opened, events, call } = bench({ era: 'auto', transports: [fragile, scripted()] })
    await call()
    expect(opened).toHaveLength(2)
    expect(events.map(({ type }) => type)).toEqual(['UPSTREAM_CONNECTED'])
    await upstream.close()
  })

  it('probes again if the known era is no longer correct', async () => {
    const { upstream, call } = bench({ era: 'auto', options: { knownEra: 'modern' } })
    expect(await codeOf(call())).toBe('UPSTREAM_RESTARTING')
    await vi.advanceTimersByTimeAsync(500)
    await call()
    expect(upstream.status().era).toBe('legacy')
    await upstream.close()
  })

  it('listens for changes of a modern server, and refreshes the lists when one is reported', async () => {
    let tools = ['one']
    const script: ServerScript = { era: 'modern', tools: () => tools.map(toolNamed) }
    const { upstream, at, catalogs, call } = bench({ era: 'auto', transports: [scripted(script)] })
    await call()
    await vi.advanceTimersByTimeAsync(20)
    expect((await at(0).waitForMessage('subscriptions/listen')).params).toMatchObject({
      notifications: { toolsListChanged: true },
    })
    tools = ['one', 'two']
    at(0).emit({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
    await vi.advanceTimersByTimeAsync(200)
    expect(catalogs.at(-1)?.tools.map(({ name }) => name)).toEqual(['one', 'two'])
    await upstream.close()
  })
})

describe(`the crash of a server (${promise('GW-4')})`, () => {
  it('is noticed without a call; calls fail at once with the reason until it is back', async () => {
    const { upstream, at, opened, events, call } = bench()
    await call()
    at(0).die('exited with code 3: out of memory')
    expect(upstream.status()).toMatchObject({ state: 'restarting', reason: 'exited with code 3: out of memory' })
    await expect(call()).rejects.toThrow(
      'Server memory is restarting: exited with code 3: out of memory. Next attempt in 250 ms.',
    )
    expect(await codeOf(call())).toBe('UPSTREAM_RESTARTING')
    await vi.advanceTimersByTimeAsync(250)
    await call()
    expect(upstream.status()).toMatchObject({ state: 'ready', restarts: 1 })
    expect(opened.map(({ closed }) => closed)).toEqual([1, 0])
    expect(events.map(({ type }) => type)).toEqual(['UPSTREAM_CONNECTED', 'UPSTREAM_LOST', 'UPSTREAM_RESTARTED'])
    await upstream.close()
  })

  it('fails each call in flight once', async () => {
    const answers = { 'tools/call': () => {} }
    const { upstream, at, call } = bench({ transports: [scripted({ answers }), scripted()] })
    const lost = codeOf(call())
    await at(0)?.waitForMessage('tools/call')
    at(0).die()
    expect(await lost).toBe('UPSTREAM_DIED')
    await upstream.close()
  })

  it('six times in five minutes opens the circuit; then single attempts are made', async () => {
    const { upstream, opened, call } = bench({ transports: [() => new MemoryTransport({ serve: (_, s) => s.die() })] })
    upstream.start()
    await vi.advanceTimersByTimeAsync(250 + 500 + 1_000 + 2_000 + 4_000)
    expect(opened).toHaveLength(6)
    expect(await codeOf(call())).toBe('UPSTREAM_BROKEN')
    await vi.advanceTimersByTimeAsync(30_000)
    expect(opened).toHaveLength(7)
    expect(upstream.status().state).toBe('broken')
    await upstream.close()
  })

  it('counts the same if the system clock is changed meanwhile', async () => {
    const { upstream, opened } = bench({ transports: [() => new MemoryTransport({ serve: (_, s) => s.die() })] })
    upstream.start()
    for (const delay of [250, 500, 1_000, 2_000, 4_000]) {
      await vi.advanceTimersByTimeAsync(delay)
      vi.setSystemTime(Date.now() + 3_600_000)
    }
    expect(opened).toHaveLength(6)
    expect(upstream.status().state).toBe('broken')
    await upstream.close()
  })

  it('at the very moment it becomes ready is noticed too', async () => {
    const answers = {
      'tools/list': (message: { id?: number }, server: MemoryTransport) => {
        server.answer(message.id, { tools: [] })
        server.die('exited with code 0')
      },
    }
    const { upstream, events } = bench({ transports: [scripted({ answers })] })
    upstream.start()
    await settle()
    expect(upstream.status().state).toBe('restarting')
    expect(events.map(({ type }) => type)).toEqual(['UPSTREAM_LOST'])
    await upstream.close()
  })

  it('during the start fails waiting calls, and is retried', async () => {
    const { upstream, at, call } = bench({ transports: [silent, scripted()] })
    const waiting = codeOf(call())
    await at(0)?.waitForMessage('initialize')
    at(0).die()
    expect(await waiting).toBe('UPSTREAM_RESTARTING')
    await vi.advanceTimersByTimeAsync(250)
    await call()
    await upstream.close()
  })

  it('long ago does not count against it', async () => {
    const { upstream, at, call } = bench()
    await call()
    for (let index = 0; index < 10; index++) {
      at(index).die()
      await vi.advanceTimersByTimeAsync(100_000)
      expect(upstream.status().state).toBe('ready')
    }
    await upstream.close()
  })
})

describe('the lists of a server', () => {
  const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }

  it('are read once for many changes, and less and less often while they continue', async () => {
    const { upstream, at, catalogs, call } = bench()
    await call()
    for (let tenth = 0; tenth < 100; tenth++) {
      for (let index = 0; index < 100; index++) at(0).emit(changed)
      await vi.advanceTimersByTimeAsync(100)
    }
    // At the start, then five times after 0.2 seconds, then after 0.2, 0.4, 0.8, 1.6 and 3.2 seconds more.
    expect(at(0).received.filter(({ method }) => method === 'tools/list')).toHaveLength(11)
    expect(catalogs).toHaveLength(11)
    await upstream.close()
  })

  it('are read again if they changed while they were being read', async () => {
    let tools = ['one']
    const answers = {
      'prompts/list': async (message: { id?: number }, server: MemoryTransport) => {
        if (tools.length === 2) return server.answer(message.id, { prompts: [] })
        tools = ['one', 'two']
        server.emit(changed)
        await new Promise((resolve) => setTimeout(resolve, 1_000))
        server.answer(message.id, { prompts: [] })
      },
    }
    const script = { answers, capabilities: { tools: {}, prompts: {} }, tools: () => tools.map(toolNamed) }
    const { upstream, catalogs } = bench({ transports: [scripted(script)] })
    upstream.start()
    await vi.advanceTimersByTimeAsync(3_000)
    expect(catalogs.map((catalog) => catalog.tools.length)).toEqual([1, 2])
    await upstream.close()
  })

  it('of a lost connection are not reported', async () => {
    const answers = {
      'tools/list': (message: { id?: number }, server: MemoryTransport) => {
        if (server.received.filter(({ method }) => method === 'tools/list').length === 1)
          server.answer(message.id, { tools: [] })
      },
    }
    const { upstream, at, catalogs, call } = bench({ transports: [scripted({ answers }), scripted()] })
    await call()
    at(0).emit(changed)
    await vi.advanceTimersByTimeAsync(200)
    await at(0).waitForMessage('tools/list', 1)
    at(0).die()
    await vi.advanceTimersByTimeAsync(250)
    expect(catalogs.map(({ tools }) => tools.length)).toEqual([0, 1])
    await upstream.close()
  })

  it('stay as they were when they cannot be read again', async () => {
    let refuse = false
    const answers = {
      'tools/list': ({ id }: { id?: number }, server: MemoryTransport) =>
        refuse ? server.refuse(id, -32_000, 'busy') : server.answer(id, { tools: [toolNamed('one')] }),
    }
    const { upstream, at, catalogs, call } = bench({ transports: [scripted({ answers })] })
    await call()
    refuse = true
    at(0).emit(changed)
    await vi.advanceTimersByTimeAsync(200)
    expect(catalogs).toHaveLength(1)
    expect(upstream.status()).toMatchObject({ state: 'ready' })
    expect(upstream.status().messages.at(-1)).toContain('its lists could not be read again')
    await upstream.close()
  })
})

describe(`a server that nobody calls (${promise('GW-5')})`, () => {
  it('is stopped after its idle time and starts again with the next call', async () => {
    const { upstream, opened, call } = bench({ timeouts: { idle: 1_000 } })
    await call()
    await vi.advanceTimersByTimeAsync(999)
    expect(upstream.status().state).toBe('ready')
    await vi.advanceTimersByTimeAsync(1)
    expect(upstream.status().state).toBe('stopped')
    expect(opened[0]?.closed).toBe(1)
    await call()
    expect(opened).toHaveLength(2)
    await upstream.close()
  })

  it('is not stopped while a client is subscribed to one of its resources', async () => {
    const answers = { 'resources/subscribe': replied, 'resources/unsubscribe': replied }
    const { upstream, call, at } = bench({ timeouts: { idle: 1_000 }, transports: [scripted({ answers })] })
    const subscription = new ResourceSubscription('a://b', { onUpdate: () => {}, onLost: () => {} })
    await call({ method: 'resources/subscribe', params: { uri: 'a://b' }, name: 'a://b', subscription })
    await vi.advanceTimersByTimeAsync(10_000)
    expect(upstream.status().state).toBe('ready')
    subscription.end()
    await at(0).waitForMessage('resources/unsubscribe')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(upstream.status().state).toBe('stopped')
    await upstream.close()
  })

  it('is not stopped while a call is in flight', async () => {
    const answers = { 'tools/call': () => {} }
    const { upstream, at, call } = bench({ timeouts: { idle: 1_000 }, transports: [scripted({ answers })] })
    const slow = call()
    await at(0)?.waitForMessage('tools/call')
    await vi.advanceTimersByTimeAsync(10_000)
    expect(upstream.status().state).toBe('ready')
    at(0).answer(at(0).requests.at(-1)?.id)
    await slow
    await vi.advanceTimersByTimeAsync(1_000)
    expect(upstream.status().state).toBe('stopped')
    await upstream.close()
  })
})

describe(`closing a server (${promise('GW-6')})`, () => {
  it('while it connects leaves nothing behind, and answers waiting calls', async () => {
    for (const plan of [silent, () => new MemoryTransport({ open: () => new Promise(() => {}) })]) {
      const { upstream, opened, call } = bench({ transports: [plan] })
      const waiting = codeOf(call())
      await settle()
      await upstream.close()
      expect(await waiting).toBe('UPSTREAM_UNAVAILABLE')
      expect(opened.map(({ closed }) => closed)).toEqual([1])
      expect(upstream.status().state).toBe('closed')
    }
  })

  it('in any step of connecting opens nothing further', async () => {
    for (let turns = 0; turns < 30; turns++) {
      const { upstream, opened, events } = bench({ era: 'auto' })
      upstream.start()
      for (let turn = 0; turn < turns; turn++) await Promise.resolve()
      const known = events.length
      await upstream.close()
      await settle()
      expect(opened.map(({ closed }) => closed)).toEqual([1])
      expect(events).toHaveLength(known)
    }
  })

  it('forgets a change of its lists that was announced a moment ago', async () => {
    const { upstream, at, catalogs, call } = bench()
    await call()
    at(0).emit({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
    await upstream.close()
    expect(vi.getTimerCount()).toBe(0)
    expect(catalogs).toHaveLength(1)
  })

  it('while it waits for the next attempt cancels that attempt', async () => {
    const { upstream, at, opened, call } = bench()
    await call()
    at(0).die()
    await upstream.close()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(opened).toHaveLength(1)
    expect(await codeOf(call())).toBe('UPSTREAM_UNAVAILABLE')
  })

  it('fails calls in flight and waits until the process is gone, however often it is called', async () => {
    let ended = (): void => {}
    const slow = () =>
      new MemoryTransport({
        serve: createServerHandler({ answers: { 'tools/call': () => {} } }),
        close: () => new Promise((resolve) => (ended = resolve)),
      })
    const { upstream, at, call } = bench({ transports: [slow] })
    const lost = codeOf(call())
    await at(0)?.waitForMessage('tools/call')
    let closed = false
    const closing = Promise.all([upstream.close(), upstream.close()]).then(() => (closed = true))
    expect(await lost).toBe('UPSTREAM_DIED')
    await settle()
    expect(closed).toBe(false)
    ended()
    await closing
    expect(at(0).closed).toBe(1)
  })

  it('survives a transport that breaks while it is closed', async () => {
    const broken = () =>
      new MemoryTransport({ serve: createServerHandler(), close: () => Promise.reject(new Error('stuck')) })
    const { upstream, call } = bench({ transports: [broken] })
    await call()
    await upstream.close()
    expect(upstream.status().messages.at(-1)).toContain('stuck')
  })
})
