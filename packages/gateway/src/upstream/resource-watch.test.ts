import { Cancellation, type JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { Link } from './link/link.ts'
import { codeOf, MemoryTransport, type ReceivedMessage } from './memory-transport.test-kit.ts'
import { TestPermit } from './permit.test-kit.ts'
import { GATEWAY_PERMIT, type Permit } from './permit.ts'
import { ResourceSubscription } from './resource-subscription.ts'
import { ResourceWatch } from './resource-watch.ts'
import { stdioConfig } from './stdio/stdio.test-kit.ts'
import type { UpstreamReply } from './upstream-interface.ts'

type Serve = (message: ReceivedMessage, server: MemoryTransport) => void

const granting: Serve = ({ id }, server) => server.answer(id)
const OPENING = { era: 'legacy', capabilities: {} } as const

function openWatch({ maxOpen: maxResources = 100, serve = granting }: { maxOpen?: number; serve?: Serve } = {}) {
  const troubles: string[] = []
  const watch = new ResourceWatch({
    config: stdioConfig(),
    maxResources,
    onWarning: (text) => void troubles.push(text),
  })
  const connect = async (): Promise<MemoryTransport> => {
    const transport = new MemoryTransport({
      serve: (message, server) => message.id !== undefined && serve(message, server),
    })
    const quiet = {
      onNotification: () => {},
      onQuestion: () => {},
      onWarning: () => {},
      onDropped: () => {},
      onClose: () => {},
    }
    const link = new Link(transport, quiet, { clientInfo: {}, capabilities: {} })
    await link.open()
    watch.connected(link, OPENING)
    return transport
  }
  return { watch, troubles, connect }
}

function subscriberTo(watch: ResourceWatch, uri: string) {
  const updates: JsonObject[] = []
  const lost: string[] = []
  const subscription = new ResourceSubscription(uri, {
    onUpdate: (params) => void updates.push(params),
    onLost: () => void lost.push(uri),
  })
  const ask = (cancellation = new Cancellation()): Promise<UpstreamReply> =>
    watch.subscribe(subscription, {
      ...{
        method: 'resources/subscribe',
        params: { uri },
        name: uri,
        session: 's',
        permit: GATEWAY_PERMIT,
        cancellation,
      },
    })
  return { updates, lost, subscription, ask }
}

const requestsTo = ({ received }: MemoryTransport): readonly string[] =>
  received.map(({ method, params }) => `${String(method).slice('resources/'.length)} ${params?.uri}`)
const updated = (uri: string, more: JsonObject = {}): JsonObject => ({
  method: 'notifications/resources/updated',
  params: { uri, ...more },
})
const isGranted = ({ frame }: UpstreamReply): boolean => frame.envelope.result !== undefined

it(`a subscription that waits for the end of another needs a valid permit when it is sent (${promise('GOV-13')})`, async () => {
  const leaving: ReceivedMessage[] = []
  const serve: Serve = (message, server) =>
    message.method === 'resources/unsubscribe' ? void leaving.push(message) : server.answer(message.id)
  const { watch, connect } = openWatch({ serve })
  const server = await connect()
  const first = subscriberTo(watch, 'a://1')
  await first.ask()
  first.subscription.end()
  await server.waitForMessage('resources/unsubscribe')
  const permit = new TestPermit()
  const second = subscriberTo(watch, 'a://1')
  const request = { method: 'resources/subscribe', params: { uri: 'a://1' }, name: 'a://1', session: 's', permit }
  const refused = codeOf(watch.subscribe(second.subscription, request))
  permit.becomeStale()
  server.answer(leaving[0]?.id)
  expect(await refused).toBe('MODE_FORBIDS')
  expect(requestsTo(server)).toEqual(['subscribe a://1', 'unsubscribe a://1'])
})

it(`a subscription is not sent if all who want it lost their permits while it waited for a connection (${promise('SEN-5')})`, async () => {
  const { watch, connect } = openWatch()
  const server = await connect()
  const permits = Array.from({ length: 4 }, () => new TestPermit())
  // Checked once before the request is made: here they become stale after that.
  const ask = (permit: TestPermit, uri: string): Promise<string> => {
    const passing: Permit = {
      get isCurrent() {
        return ++checks <= 1 || permit.isCurrent
      },
      renew: () => permit.renew(),
    }
    let checks = 0
    const request = { method: 'resources/subscribe', params: { uri }, name: uri, session: 's', permit: passing }
    return codeOf(watch.subscribe(subscriberTo(watch, uri).subscription, request))
  }
  const [first, second, third, fourth] = permits as [TestPermit, TestPermit, TestPermit, TestPermit]
  for (const permit of [first, second, third]) permit.becomeStale()
  const refused = [ask(first, 'a://1'), ask(second, 'a://1')]
  const shared = [ask(third, 'a://2'), ask(fourth, 'a://2')]
  expect(await Promise.all(refused)).toEqual(['MODE_FORBIDS', 'MODE_FORBIDS'])
  expect(await Promise.all(shared)).toEqual(['no error', 'no error'])
  expect(requestsTo(server)).toEqual(['subscribe a://2'])
})

describe(`the watched resources of one server (${promise('GW-17')})`, () => {
  it('are subscribed once, however many clients want them, and unsubscribed with the last', async () => {
    const { watch, connect } = openWatch()
    const server = await connect()
    const [one, two, three] = [subscriberTo(watch, 'a://1'), subscriberTo(watch, 'a://1'), subscriberTo(watch, 'a://1')]
    expect((await Promise.all([one.ask(), two.ask()])).every(isGranted)).toBe(true)
    expect(isGranted(await three.ask())).toBe(true)
    watch.handles(updated('a://1'))
    expect([one, two, three].map(({ updates }) => updates.length)).toEqual([1, 1, 1])
    one.subscription.end()
    two.subscription.end()
    expect(watch.isHeld).toBe(true)
    three.subscription.end()
    await server.waitForMessage('resources/unsubscribe')
    expect(watch.isHeld).toBe(false)
    expect(requestsTo(server)).toEqual(['subscribe a://1', 'unsubscribe a://1'])
  })

  it('are reported to a client whose subscription is granted in the same moment', async () => {
    const { watch, connect } = openWatch({
      serve: ({ id }, server) => {
        server.answer(id)
        watch.handles(updated('a://1'))
      },
    })
    await connect()
    const { updates, ask } = subscriberTo(watch, 'a://1')
    await ask()
    expect(updates).toEqual([{ uri: 'a://1' }])
  })

  it('are not lost if one client leaves while another one subscribes', async () => {
    const answers: (() => void)[] = []
    const serve: Serve = (message, server) => void answers.push(() => server.answer(message.id))
    const { watch, connect } = openWatch({ serve })
    const server = await connect()
    const [first, second] = [subscriberTo(watch, 'a://1'), subscriberTo(watch, 'a://1')]
    const granted = first.ask()
    await server.waitForMessage('resources/subscribe')
    answers.shift()?.()
    await granted
    first.subscription.end()
    const again = second.ask()
    await server.waitForMessage('resources/unsubscribe')
    expect(requestsTo(server), 'one could overtake the other').toEqual(['subscribe a://1', 'unsubscribe a://1'])
    answers.shift()?.()
    await server.waitForMessage('resources/subscribe', 1)
    answers.shift()?.()
    expect(isGranted(await again)).toBe(true)
    watch.handles(updated('a://1'))
    expect(second.updates).toHaveLength(1)
  })

  it('that the server refuses have no subscribers, and can be requested again', async () => {
    const { watch, connect } = openWatch({ serve: ({ id }, server) => server.refuse(id, -32602, 'no') })
    const server = await connect()
    const one = subscriberTo(watch, 'a://1')
    expect((await one.ask()).frame.envelope.error).toBeDefined()
    expect((await subscriberTo(watch, 'a://1').ask()).frame.envelope.error).toBeDefined()
    expect(requestsTo(server)).toEqual(['subscribe a://1', 'subscribe a://1'])
    watch.handles(updated('a://1'))
    expect([one.updates, watch.isHeld]).toEqual([[], false])
  })

  it('stay subscribed for others if one client cancels, and are unsubscribed when no client is left', async () => {
    const { watch, connect } = openWatch({ serve: () => {} })
    const server = await connect()
    const [impatient, patient, alone] = [
      subscriberTo(watch, 'a://1'),
      subscriberTo(watch, 'a://1'),
      subscriberTo(watch, 'a://2'),
    ]
    const cancellations = [new Cancellation(), new Cancellation()] as const
    const outcomes = [
      codeOf(impatient.ask(cancellations[0])),
      patient.ask(),
      codeOf(alone.ask(cancellations[1])),
    ] as const
    await server.waitForMessage('resources/subscribe', 1)
    for (const cancellation of cancellations) cancellation.cancel('enough')
    expect([await outcomes[0], await outcomes[2]]).toEqual(['CALL_CANCELLED', 'CALL_CANCELLED'])
    for (const { id } of server.requests) server.answer(id)
    expect(isGranted(await outcomes[1])).toBe(true)
    expect((await server.waitForMessage('resources/unsubscribe')).params).toEqual({ uri: 'a://2' })
    watch.handles(updated('a://1'))
    expect([impatient.updates.length, patient.updates.length]).toEqual([0, 1])
  })

  it('are subscribed again over the next connection, few at a time, without those that nobody wants any more', async () => {
    let open = 0
    let maxOpen = 0
    const serve: Serve = ({ id }, server) => {
      maxOpen = Math.max(maxOpen, ++open)
      setImmediate(() => {
        open--
        server.answer(id)
      })
    }
    const { watch, connect } = openWatch({ serve })
    await connect()
    const subscribers = Array.from({ length: 60 }, (_, index) => subscriberTo(watch, `a://${index}`))
    for (const { ask } of subscribers) await ask()
    watch.disconnected()
    subscribers[7]?.subscription.end()
    maxOpen = 0
    const server = await connect()
    await server.waitForMessage('resources/subscribe', 58)
    expect(requestsTo(server)).toHaveLength(59)
    expect(requestsTo(server)).not.toContain('subscribe a://7')
    expect(maxOpen).toBeLessThanOrEqual(16)
    watch.handles(updated('a://59'))
    expect(subscribers[59]?.updates).toHaveLength(1)
  })

  it('that the server no longer grants are reported once, and requested again for the next client', async () => {
    let refuses = false
    const serve: Serve = ({ id }, server) => (refuses ? server.refuse(id) : server.answer(id))
    const { watch, connect, troubles } = openWatch({ serve })
    await connect()
    for (const uri of ['a://1', 'a://2']) await subscriberTo(watch, uri).ask()
    watch.disconnected()
    refuses = true
    const server = await connect()
    await expect.poll(() => troubles).toEqual([expect.stringContaining('2 subscribed resource')])
    refuses = false
    expect(isGranted(await subscriberTo(watch, 'a://1').ask())).toBe(true)
    expect(requestsTo(server)).toEqual(['subscribe a://1', 'subscribe a://2', 'subscribe a://1'])
  })

  it('are limited in number, and one more is allowed when the last client of another left', async () => {
    const { watch, connect } = openWatch({ maxOpen: 2 })
    const server = await connect()
    const [one, two, three] = ['a://1', 'a://2', 'a://3'].map((uri) => subscriberTo(watch, uri))
    await one?.ask()
    await two?.ask()
    expect(await codeOf(three?.ask() ?? Promise.resolve())).toBe('OVERLOADED')
    expect(isGranted((await subscriberTo(watch, 'a://1').ask()) as UpstreamReply)).toBe(true)
    two?.subscription.end()
    await server.waitForMessage('resources/unsubscribe')
    await expect.poll(() => codeOf(three?.ask() ?? Promise.resolve())).toBe('no error')
  })

  it('are lost for their subscribers when the server is closed, or when they get another connection', async () => {
    const { watch, connect } = openWatch()
    const server = await connect()
    const [one, two] = [subscriberTo(watch, 'a://1'), subscriberTo(watch, 'a://2')]
    await one.ask()
    watch.dismiss()
    await server.waitForMessage('resources/unsubscribe')
    await two.ask()
    watch.close()
    expect([one.lost, two.lost]).toEqual([['a://1'], ['a://2']])
    one.subscription.end()
    two.subscription.end()
    expect(watch.isHeld).toBe(false)
  })

  it('cover their parts, and are reported without our own subscription id', async () => {
    const { watch, connect } = openWatch()
    await connect()
    const [folder, file, neighbour] = ['x://h/a', 'x://h/a/b', 'x://h/ab'].map((uri) => subscriberTo(watch, uri))
    for (const each of [folder, file, neighbour]) await each?.ask()
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 7 }
    expect(watch.handles(updated('x://h/a/b', { title: 'b', _meta }))).toBe(true)
    expect(folder?.updates).toEqual([{ uri: 'x://h/a/b', title: 'b' }])
    expect([file?.updates.length, neighbour?.updates.length]).toEqual([1, 0])
  })

  it('are independent of lists, and survive invalid notifications', async () => {
    const { watch, connect } = openWatch()
    await connect()
    const one = subscriberTo(watch, 'a://1')
    await one.ask()
    expect(watch.handles({ method: 'notifications/tools/list_changed' })).toBe(false)
    for (const params of [undefined, 7, [], { uri: 7 }, { uri: ['a://1'] }])
      expect(watch.handles({ method: 'notifications/resources/updated', params } as unknown as JsonObject)).toBe(true)
    expect(one.updates).toEqual([])
  })
})
