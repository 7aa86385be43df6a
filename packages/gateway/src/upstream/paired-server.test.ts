import { SallyportError, type ServerInstance } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { QuestionAnswer } from './client.ts'
import { httpConfig } from './http/http-transport.test-kit.ts'
import type { CallRoute, ClientCall } from './link/outgoing-call.ts'
import { PairedServer } from './paired-server.ts'
import { sendAs, TestPermit } from './permit.test-kit.ts'
import { ResourceSubscription } from './resource-subscription.ts'
import type { Upstream, UpstreamListener, UpstreamReply } from './upstream-interface.ts'

/** A session that a test makes private. */
class TestRoute implements CallRoute {
  isPrivate = false
  instance: ServerInstance | undefined
  refusal: SallyportError | undefined
  readonly madeBy: ServerInstance | undefined

  constructor(madeBy?: ServerInstance) {
    this.madeBy = madeBy
  }

  choose(instance: ServerInstance): void {
    this.instance = instance
  }

  findRefusal(): SallyportError | undefined {
    return this.refusal
  }
}

type Serve = (call: ClientCall) => Promise<UpstreamReply> | UpstreamReply

/** An instance whose answers a test gives. It checks permits as transports do. */
class TestInstance {
  readonly sent: ClientCall[] = []
  readonly closed: string[]
  readonly upstream: Upstream
  listener: UpstreamListener | undefined
  serve: Serve = () => ({ frame: this.name, era: 'modern' }) as unknown as UpstreamReply
  /** A call waits for this before its permit is checked. */
  ready: Promise<void> = Promise.resolve()
  readonly name: string

  constructor(name: string, closed: string[]) {
    this.name = name
    this.closed = closed
    this.upstream = {
      request: async (call: ClientCall) => {
        await this.ready
        return sendAs(call.permit, () => {
          this.sent.push(call)
          return this.serve(call)
        })
      },
      close: async () => {
        this.closed.push(`${name} begins`)
        await Promise.resolve()
        this.closed.push(`${name} ends`)
      },
    } as unknown as Upstream
  }
}

function openPair() {
  const closed: string[] = []
  const events: unknown[] = []
  const [normal, isolated] = [new TestInstance('normal', closed), new TestInstance('isolated', closed)]
  const paired = new PairedServer({
    config: httpConfig('http://127.0.0.1/mcp', { id: 'data' }),
    normal: normal.upstream,
    openIsolated: (listener) => {
      isolated.listener = listener
      return isolated.upstream
    },
    listener: { onCatalog: () => {}, onEvent: (event) => void events.push(event) },
  })
  return { paired, normal, isolated, closed, events }
}

const callWith = (route: CallRoute, more: Partial<ClientCall> = {}): ClientCall => ({
  ...{ method: 'tools/call', params: {}, name: 'read', session: 's' },
  ...{ permit: new TestPermit(), route, ...more },
})

const frameOf = async (reply: Promise<UpstreamReply>): Promise<unknown> => (await reply).frame

describe(`a server with two instances (${promise('SEN-15')})`, () => {
  it('checks the session in the same turn in which a call is written', async () => {
    const { paired, normal, isolated } = openPair()
    const route = new TestRoute()
    let connect = (): void => {}
    normal.ready = new Promise((resolve) => {
      connect = resolve
    })
    const reply = paired.request(callWith(route))
    route.isPrivate = true
    connect()
    expect(await frameOf(reply)).toBe('isolated')
    expect([normal.sent.length, isolated.sent.length, route.instance]).toEqual([0, 1, 'isolated'])
  })

  it('checks it again when the permit of a call is renewed', async () => {
    const { paired, normal } = openPair()
    const route = new TestRoute()
    const renewed = Promise.resolve().then(() => {
      route.isPrivate = true
      return undefined
    })
    const permit = new TestPermit().becomeStale(renewed)
    expect(await frameOf(paired.request(callWith(route, { permit })))).toBe('isolated')
    expect(normal.sent).toEqual([])
    expect(permit.timesSent).toBe(1)
  })

  it('sends a private call to the isolated instance although the other one fails, and the other way round', async () => {
    const { paired, normal, isolated } = openPair()
    const down = new SallyportError('UPSTREAM_RESTARTING', 'It is down.')
    const route = new TestRoute()
    normal.serve = () => Promise.reject(down)
    await expect(paired.request(callWith(route))).rejects.toBe(down)
    expect(isolated.sent).toEqual([])
    route.isPrivate = true
    isolated.serve = () => Promise.reject(down)
    await expect(paired.request(callWith(route))).rejects.toBe(down)
    expect([normal.sent.length, isolated.sent.length]).toEqual([1, 1])
  })

  it('moves a call whose start failed while its session became private', async () => {
    const { paired, normal } = openPair()
    const route = new TestRoute()
    normal.ready = Promise.reject(new SallyportError('UPSTREAM_RESTARTING', 'It is down.'))
    const reply = paired.request(callWith(route))
    route.isPrivate = true
    expect(await frameOf(reply)).toBe('isolated')
  })

  it('does not send again what the normal instance may have begun', async () => {
    const { paired, normal, isolated } = openPair()
    const route = new TestRoute()
    const lost = new SallyportError('UPSTREAM_DIED', 'It went away.')
    normal.serve = () => {
      route.isPrivate = true
      return Promise.reject(lost)
    }
    await expect(paired.request(callWith(route))).rejects.toBe(lost)
    expect(isolated.sent).toEqual([])
  })

  it('does not continue a call of several rounds at the other instance', async () => {
    const { paired, isolated } = openPair()
    const route = new TestRoute()
    const call = callWith(route)
    await paired.request(call)
    route.isPrivate = true
    await expect(paired.request({ ...call, params: { inputResponses: {} } })).rejects.toMatchObject({
      code: 'CALL_DENIED',
      message: expect.stringMatching(/normal instance of server data gets nothing more of it/),
    })
    expect(isolated.sent).toEqual([])
  })

  it('does not send what the isolated instance does not offer', async () => {
    const { paired, normal, isolated } = openPair()
    const route = new TestRoute()
    route.isPrivate = true
    route.refusal = new SallyportError('COUNTERPART_DIFFERS', 'It has no such tool.')
    await expect(paired.request(callWith(route))).rejects.toBe(route.refusal)
    expect([...normal.sent, ...isolated.sent]).toEqual([])
  })

  it('keeps a task at its instance', async () => {
    const { paired, normal } = openPair()
    const [ofNormal, ofIsolated] = [new TestRoute('normal'), new TestRoute('isolated')]
    expect(await frameOf(paired.request(callWith(ofNormal)))).toBe('normal')
    expect(await frameOf(paired.request(callWith(ofIsolated)))).toBe('isolated')
    ofNormal.isPrivate = true
    await expect(paired.request(callWith(ofNormal))).rejects.toMatchObject({ code: 'CALL_DENIED' })
    expect(normal.sent).toHaveLength(1)
  })

  it('does not give the normal instance an answer of a client whose session became private', async () => {
    const { paired, normal, isolated } = openPair()
    const route = new TestRoute()
    const ask = async (): Promise<QuestionAnswer> => {
      route.isPrivate = true
      return { result: { name: 'Ada' } }
    }
    const question = { method: 'elicitation/create', params: {}, cancellation: {} as never }
    normal.serve = async (call) => ({ frame: await call.ask?.(question), era: 'legacy' }) as unknown as UpstreamReply
    expect(await frameOf(paired.request(callWith(route, { ask })))).toMatchObject({ error: { code: -32_600 } })
    isolated.serve = normal.serve
    expect(await frameOf(paired.request(callWith(route, { ask })))).toEqual({ result: { name: 'Ada' } })
  })

  it('closes the isolated instance first', async () => {
    const { paired, closed } = openPair()
    await paired.close()
    expect(closed).toEqual(['isolated begins', 'isolated ends', 'normal begins', 'normal ends'])
  })

  it('names the isolated instance in its events', () => {
    const { isolated, events } = openPair()
    isolated.listener?.onEvent({ type: 'UPSTREAM_LOST', server: 'data (isolated)', reason: 'gone' })
    expect(events).toEqual([{ type: 'UPSTREAM_LOST', server: 'data', instance: 'isolated', reason: 'gone' }])
  })
})

describe(`a subscription at the normal instance (${promise('SEN-15')})`, () => {
  const subscribe = async (route: TestRoute) => {
    const pair = openPair()
    const updates: unknown[] = []
    let lost = 0
    const subscription = new ResourceSubscription('notes://all', {
      onUpdate: (params) => void updates.push(params),
      onLost: () => lost++,
    })
    await pair.paired.request(callWith(route, { method: 'resources/subscribe', subscription }))
    const held = pair.normal.sent[0]?.subscription as ResourceSubscription
    return { ...pair, subscription, held, updates, lostCount: () => lost }
  }

  it('passes updates on while its session is not private', async () => {
    const { held, updates, lostCount } = await subscribe(new TestRoute())
    held.update({ uri: 'notes://all' })
    expect([updates.length, lostCount()]).toEqual([1, 0])
  })

  it.each([
    ['at its next update', 'update'],
    ['when sessions are rechecked', 'recheck'],
    ['with the next call of its session', 'call'],
  ])('is lost once its session is private: %s', async (_when, cause) => {
    const route = new TestRoute()
    const { paired, held, updates, lostCount } = await subscribe(route)
    route.isPrivate = true
    if (cause === 'update') held.update({ uri: 'notes://all' })
    else if (cause === 'recheck') paired.recheckSubscriptions()
    else await paired.request(callWith(route))
    expect([updates.length, lostCount(), held.hasEnded]).toEqual([0, 1, true])
  })

  it('ends with its client', async () => {
    const { subscription, held, lostCount } = await subscribe(new TestRoute())
    subscription.end()
    expect([held.hasEnded, lostCount()]).toEqual([true, 0])
  })
})
