import { Cancellation, SallyportError } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { Client, QuestionScope } from './client.ts'
import type { ClientCall } from './link/outgoing-call.ts'
import { codeOf } from './memory-transport.test-kit.ts'
import { GATEWAY_PERMIT } from './permit.ts'
import { type NewConnectionOptions, Server } from './server.ts'
import type { ServerCatalog } from './server-catalog.ts'
import { stdioConfig } from './stdio/stdio.test-kit.ts'
import type {
  ListReader,
  OwnListsChange,
  UpstreamConnection,
  UpstreamListener,
  UpstreamReply,
} from './upstream-interface.ts'
import type { UpstreamStatus } from './upstream-status.ts'

const STATUS = {
  ...({ id: 'x', kind: 'stdio', state: 'ready', since: 0, restarts: 0 } as const),
  ...{ reason: undefined, retryAt: undefined, era: undefined },
}

const offering = (description: string): ServerCatalog => ({
  ...({
    era: 'legacy',
    protocolVersion: '2025-11-25',
    capabilities: {},
    serverInfo: {},
    instructions: undefined,
  } as const),
  tools: [{ name: 'read', description, inputSchema: {} }],
  ...{ resources: [], resourceTemplates: [], prompts: [], leftOut: [] },
})

/** One process of a server, as its owner sees it. */
class Instance implements UpstreamConnection {
  readonly config = stdioConfig()
  readonly requests: ClientCall[] = []
  readonly finish: (() => void)[] = []
  readonly fail: (() => void)[] = []
  readonly pid: number
  started = 0
  closed = 0
  readonly idle: number | undefined
  readonly listener: UpstreamListener
  readonly onAsked: NewConnectionOptions['onQuestion']
  readonly identity: NewConnectionOptions['identity']
  readonly watch = { isHeld: false, dismissed: 0, dismiss: () => void this.watch.dismissed++ }

  constructor(pid: number, { config, listener, onQuestion, identity }: NewConnectionOptions) {
    this.pid = pid
    this.identity = identity
    this.idle = config.timeouts.idle
    this.listener = listener
    this.onAsked = onQuestion
  }

  status(): UpstreamStatus {
    return {
      ...STATUS,
      pid: this.pid,
      dropped: {},
      messages: Array.from({ length: 50 }, (_, line) => `line ${line} of ${this.pid}`),
      messageCount: 50,
    }
  }

  start(): void {
    this.started++
  }

  request(request: ClientCall): Promise<UpstreamReply> {
    this.requests.push(request)
    return new Promise((resolve, reject) => {
      this.finish.push(() => resolve({} as UpstreamReply))
      this.fail.push(() => reject(new SallyportError('CALL_CANCELLED', 'given up')))
    })
  }

  notifyConversation(): void {}

  async close(): Promise<void> {
    this.closed++
    for (const finish of this.finish.splice(0)) finish()
  }
}

function openSessions(maxConnections = 2, asks?: QuestionScope) {
  const opened: Instance[] = []
  const catalogs: ServerCatalog[] = []
  const upstream = new Server({
    clientInfo: {},
    asks,
    config: stdioConfig({ per: 'session' }),
    maxConnections,
    listener: {
      onCatalog: (catalog) => void catalogs.push(catalog),
      onEvent: () => {},
    },
    connect: (one) => {
      const instance = new Instance(opened.length, one)
      opened.push(instance)
      return instance
    },
  })
  const call = (session: string): Promise<UpstreamReply> =>
    upstream.request({ method: 'tools/call', params: {}, name: 'echo', session, permit: GATEWAY_PERMIT })
  const at = (index: number): Instance => opened[index] as Instance
  const finish = (index: number): void => {
    for (const done of at(index).finish.splice(0)) done()
  }
  return { upstream, opened, catalogs, call, at, finish }
}

describe(`a server that sessions must not share (${promise('GW-5')})`, () => {
  it('has one process for each session, and a first one that only lists the tools', async () => {
    const { upstream, opened, call, at } = openSessions()
    upstream.start()
    const calls = [call('a'), call('b'), call('a')]
    expect(opened.map(({ requests }) => requests.length)).toEqual([0, 2, 1])
    expect(at(0).started).toBe(1)
    await upstream.close()
    await Promise.all(calls)
    expect(opened.map(({ closed }) => closed)).toEqual([1, 1, 1])
  })

  it('separates sessions with names such as __proto__', async () => {
    const { upstream, opened, call } = openSessions(10)
    const calls = ['__proto__', 'constructor', ''].map(call)
    expect(opened).toHaveLength(4)
    await upstream.close()
    await Promise.all(calls)
  })

  it('reports its tools once, and stops processes that nobody uses', async () => {
    const { upstream, call, at, catalogs } = openSessions()
    const calling = call('a')
    at(0).listener.onCatalog(offering('Read.'))
    at(1).listener.onCatalog(offering('Read.'))
    expect(catalogs).toHaveLength(1)
    expect([at(0).idle, at(1).idle]).toEqual([600_000, 600_000])
    await upstream.close()
    await calling
  })

  it('reports what the process of a session defines differently, even if the first one repeats its catalog', async () => {
    const { upstream, call, at, catalogs } = openSessions()
    const calling = call('a')
    at(0).listener.onCatalog(offering('Read.'))
    at(1).listener.onCatalog(offering('Read, and tell me.'))
    at(0).listener.onCatalog(offering('Read.'))
    at(1).listener.onCatalog(offering('Read.'))
    const texts = catalogs.map(({ tools }) => tools[0]?.description)
    expect(texts).toEqual(['Read.', 'Read, and tell me.', 'Read, and tell me.', 'Read.'])
    await upstream.close()
    await calling
  })

  it(`compares a process that is ready before the first one (${promise('GOV-9')})`, async () => {
    const { upstream, call, at, catalogs } = openSessions()
    const calls = [call('a'), call('b')]
    at(1).listener.onCatalog(offering('Read.'))
    at(2).listener.onCatalog(offering('Read, and tell me.'))
    at(0).listener.onCatalog(offering('Read.'))
    const texts = catalogs.map(({ tools }) => tools[0]?.description)
    expect(texts).toEqual(['Read.', 'Read, and tell me.', 'Read, and tell me.'])
    await upstream.close()
    await Promise.all(calls)
  })

  it('compares the processes of sessions again when the first one changes what it offers', async () => {
    const { upstream, call, at, catalogs } = openSessions()
    const calling = call('a')
    at(0).listener.onCatalog(offering('Read, and tell me.'))
    at(1).listener.onCatalog(offering('Read, and tell me.'))
    at(0).listener.onCatalog(offering('Read.'))
    expect(catalogs.at(-1)?.tools[0]?.description).toBe('Read, and tell me.')
    await upstream.close()
    await calling
  })

  it('keeps the process of a session that is subscribed to a resource', async () => {
    const { upstream, opened, call, at, finish } = openSessions()
    for (const [session, index] of [
      ['a', 1],
      ['b', 2],
    ] as const) {
      const calling = call(session)
      finish(index)
      await calling
    }
    at(1).watch.isHeld = true
    const third = call('c')
    expect([at(1).closed, at(2).closed]).toEqual([0, 1])
    finish(3)
    await third
    at(3).watch.isHeld = true
    expect(await codeOf(call('d'))).toBe('OVERLOADED')
    expect(opened).toHaveLength(4)
    await upstream.close()
  })

  it('moves subscribers to their new connections once the server is known to ask questions', async () => {
    const { upstream, call, at, finish } = openSessions()
    const calling = call('a')
    finish(1)
    await calling
    at(1).onAsked('anywhere')
    at(0).onAsked('anywhere')
    expect([at(0).watch.dismissed, at(1).watch.dismissed]).toEqual([1, 1])
    await upstream.close()
  })

  it('stops the least recently used process if there are too many', async () => {
    const { upstream, opened, call, at, finish } = openSessions()
    for (const [session, index] of [
      ['a', 1],
      ['b', 2],
      ['a', 1],
    ] as const) {
      const calling = call(session)
      finish(index)
      await calling
    }
    const calling = call('c')
    expect(opened.map(({ closed }) => closed)).toEqual([0, 0, 1, 0])
    finish(3)
    await calling
    const again = call('b')
    expect(opened).toHaveLength(5)
    expect(at(1).closed).toBe(1)
    await upstream.close()
    await again
  })

  it('stops the process of a session that ends with its call', async () => {
    const { upstream, at } = openSessions()
    const last = { method: 'tools/call', params: {}, name: 'echo', session: 'one/1', permit: GATEWAY_PERMIT }
    const ending = [{}, {}].map(() => upstream.request({ ...last, endsSession: true }))
    at(1).finish[0]?.()
    await ending[0]
    expect(at(1).closed).toBe(0)
    at(1).finish[1]?.()
    await ending[1]
    expect(at(1).closed).toBe(1)
    expect(at(0).closed).toBe(0)
  })

  it('never stops one with a call in flight: then the new session is refused', async () => {
    const { upstream, opened, call, finish } = openSessions()
    const calls = [call('a'), call('b')]
    expect(await codeOf(call('c'))).toBe('OVERLOADED')
    expect(opened).toHaveLength(3)
    finish(1)
    await calls[0]
    calls.push(call('c'))
    expect(opened.map(({ closed }) => closed)).toEqual([0, 1, 0, 0])
    await upstream.close()
    await Promise.all(calls)
  })

  it('shows a limited number of session processes beside the first one', async () => {
    const { upstream, call } = openSessions(50)
    expect(upstream.status()).toMatchObject({ pid: 0, ownConnections: { count: 0, pids: [] } })
    const calls = Array.from({ length: 30 }, (_, index) => call(`session ${index}`))
    const { pid, ownConnections, messages } = upstream.status()
    expect({ pid, ownConnections }).toEqual({
      pid: 0,
      ownConnections: { count: 30, pids: [21, 22, 23, 24, 25, 26, 27, 28, 29, 30] },
    })
    expect(messages).toHaveLength(50 + 10 * 10)
    expect(messages.at(-1)).toBe('[session, pid 30] line 49 of 30')
    await upstream.close()
    await Promise.all(calls)
  })

  it('starts nothing after it was closed', async () => {
    const { upstream, opened, call } = openSessions()
    await upstream.close()
    expect(await codeOf(call('a'))).toBe('UPSTREAM_UNAVAILABLE')
    expect(opened).toHaveLength(1)
  })
})

describe(`${promise('GW-5')} a pipe to a server that asks questions`, () => {
  const ONE = {
    ...({ era: 'modern', capabilities: { elicitation: {} }, clientInfo: undefined } as const),
    ...{
      conversation: undefined,
      logLevel: undefined,
      answersInCall: true,
      ask: async () => ({ result: {} }),
      notify: () => {},
    },
  }
  const request = { method: 'tools/call', params: {}, name: 'echo', session: 's', permit: GATEWAY_PERMIT }

  it('serves one call at a time for clients without a conversation, and the next one after that', async () => {
    const { upstream, opened, at, finish } = openSessions(10, 'anywhere')
    const call = (): Promise<UpstreamReply> => upstream.request({ ...request, client: ONE })
    const calls = [call(), call()]
    expect(opened.map(({ requests }) => requests.length)).toEqual([0, 1, 1])
    finish(1)
    await calls[0]
    const third = call()
    expect(opened.map(({ requests }) => requests.length)).toEqual([0, 2, 1])
    for (const fail of at(2).fail) fail()
    await expect(calls[1]).rejects.toThrow('given up')
    expect(at(2).closed).toBe(1)
    await upstream.close()
    await third
  })

  it('stays available for others, however many calls one session makes', async () => {
    const { upstream, opened } = openSessions(4, 'anywhere')
    const call = (session: string): Promise<UpstreamReply> => upstream.request({ ...request, session, client: ONE })
    const calls = [call('s'), call('s'), call('s')]
    expect(await codeOf(call('s'))).toBe('OVERLOADED')
    calls.push(call('t'))
    expect(opened).toHaveLength(5)
    expect(await codeOf(call('u'))).toBe('OVERLOADED')
    await upstream.close()
    await Promise.all(calls)
  })

  it('is not opened for a call that was cancelled before', async () => {
    const { upstream, opened } = openSessions(10, 'anywhere')
    const cancellation = new Cancellation()
    cancellation.cancel('the client went away')
    const call = upstream.request({ ...request, client: ONE, cancellation })
    expect(await codeOf(call)).toBe('CALL_CANCELLED')
    expect(opened).toHaveLength(1)
    await upstream.close()
  })
})

describe(`a server that lists other things to some clients (${promise('GW-34')})`, () => {
  const withTools = (...names: string[]): ServerCatalog => ({
    ...offering('reads'),
    tools: names.map((name) => ({ name, inputSchema: {} })),
  })

  function openAsking() {
    const opened: Instance[] = []
    const changes: OwnListsChange[] = []
    const upstream = new Server({
      ...{ clientInfo: {}, asks: 'anywhere', config: stdioConfig() },
      listener: { onCatalog: () => {}, onEvent: () => {}, onOwnLists: (change) => void changes.push(change) },
      connect: (one) => {
        const instance = new Instance(opened.length, one)
        opened.push(instance)
        return instance
      },
    })
    const at = (index: number): Instance => opened[index] as Instance
    at(0).listener.onCatalog(withTools('read', 'open_url'))
    return { upstream, opened, changes, at }
  }

  const reader = (conversation: string): ListReader => ({
    session: 's',
    client: { era: 'legacy', capabilities: { elicitation: {} }, conversation } as unknown as Client,
  })
  const missingFor = (upstream: Server, conversation: string): readonly string[] => [
    ...(upstream.ownLists(reader(conversation))?.tools.missing ?? []),
  ]

  it('is asked once for all clients that declare the same, over a short connection', async () => {
    const { upstream, opened, at } = openAsking()
    const preparing = [upstream.prepareLists(reader('a')), upstream.prepareLists(reader('b'))]
    expect(opened).toHaveLength(2)
    at(1).listener.onCatalog(withTools('read'))
    await Promise.all(preparing)
    expect(at(1).closed).toBe(1)
    expect(upstream.prepareLists(reader('c')), 'it is known').toBeUndefined()
    expect(missingFor(upstream, 'c')).toEqual(['open_url'])
    expect(upstream.ownLists({ session: 's', client: undefined }), 'nothing is known of these').toBeUndefined()
    await upstream.close()
  })

  it(`learns nothing of a client from its list: that could be private data (${promise('SEN-5')})`, async () => {
    const { upstream, opened, at } = openAsking()
    const { session, client } = reader('a')
    const text = 'Ada earns 5200'
    const capabilities = { elicitation: { form: { text }, text }, roots: text, experimental: { text } }
    const telling = { ...client, capabilities, clientInfo: { name: text } } as unknown as Client
    void upstream.prepareLists({ session, client: telling })
    expect(opened).toHaveLength(2)
    expect(at(1).identity).toMatchObject({ capabilities: { elicitation: { form: {} }, roots: {} } })
    expect(JSON.stringify(at(1).identity)).not.toContain(text)
    await upstream.close()
  })

  it('shows what all share if the short connection fails', async () => {
    const { upstream, at } = openAsking()
    const preparing = upstream.prepareLists(reader('a'))
    at(1).listener.onEvent({ type: 'UPSTREAM_LOST', server: 'x', reason: 'it exited' })
    await preparing
    expect(missingFor(upstream, 'a')).toEqual([])
    expect(at(1).closed).toBe(1)
    await upstream.close()
  })

  it('notifies the clients of a connection whose lists changed, and frees them with the conversation', async () => {
    const { upstream, changes, at } = openAsking()
    const { session, client } = reader('a')
    const call = { method: 'tools/call', params: {}, name: 'echo', session, client, permit: GATEWAY_PERMIT } as const
    const calling = upstream.request(call as unknown as ClientCall)
    at(1).listener.onCatalog(withTools('read', 'open_url'))
    expect(changes).toEqual([])
    at(1).listener.onCatalog(withTools('read', 'open_url', 'extra'))
    expect(changes.map(({ lists, concerns }) => [lists, concerns(reader('a')), concerns(reader('b'))])).toEqual([
      [['tools'], true, false],
    ])
    expect(upstream.ownLists(reader('a'))?.tools.extra).toEqual(new Set(['extra']))
    expect(upstream.ownLists(reader('b'))).toBeUndefined()
    at(1).listener.onListsAnnounced?.({ tools: false, resources: false, prompts: true })
    expect(changes.at(-1)?.lists).toEqual(['prompts'])
    upstream.notifyConversation('a', 'over')
    expect(upstream.ownLists(reader('a'))).toBeUndefined()
    await upstream.close()
    await calling
  })
})
