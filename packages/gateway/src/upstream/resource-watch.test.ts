import { Cancellation, type JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { Link } from './link/link.ts'
import { codeOf, MemoryTransport, type ReceivedMessage } from './memory-transport.test-kit.ts'
import { TestPermit } from './permit.test-kit.ts'
import { GATEWAY_PERMIT } from './permit.ts'
import { ResourceSubscription } from './resource-subscription.ts'
import { ResourceWatch } from './resource-watch.ts'
import { stdioConfig } from './stdio/stdio.test-kit.ts'
import type { UpstreamReply } from './upstream-interface.ts'

type Serve = (message: ReceivedMessage, server: MemoryTransport) => void

const granting: Serve = ({ id }, server) => server.answer(id)
const OPENING = { era: 'legacy', capabilities: {} } as const

function openWatch({ most: maxResources = 100, serve = granting }: { most?: number; serve?: Serve } = {}) {
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
  const told: JsonObject[] = []
  const lost: string[] = []
  const subscription = new ResourceSubscription(uri, {
    onUpdate: (params) => void told.push(params),
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
  return { told, lost, subscription, ask }
}

const asked = ({ received }: MemoryTransport): readonly string[] =>
  received.map(({ method, params }) => `${String(method).slice('resources/'.length)} ${params?.uri}`)
const updated = (uri: string, more: JsonObject = {}): JsonObject => ({
  method: 'notifications/resources/updated',
  params: { uri, ...more },
})
const isGranted = ({ frame }: UpstreamReply): boolean => frame.envelope.result !== undefined

it(`a subscription that waits for the end of another needs a current permit when it is asked for (${promise('GOV-13')})`, async () => {
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
  expect(asked(server)).toEqual(['subscribe a://1', 'unsubscribe a://1'])
})

describe(`the resources of one server that somebody watches (${promise('GW-17')})`, () => {
  it('are asked for once, however many want them at once, and given up with the last', async () => {
    const { watch, connect } = openWatch()
    const server = await connect()
    const [one, two, three] = [subscriberTo(watch, 'a://1'), subscriberTo(watch, 'a://1'), subscriberTo(watch, 'a://1')]
    expect((await Promise.all([one.ask(), two.ask()])).every(isGranted)).toBe(true)
    expect(isGranted(await three.ask())).toBe(true)
    watch.handles(updated('a://1'))
    expect([one, two, three].map(({ told }) => told.length)).toEqual([1, 1, 1])
    one.subscription.end()
    two.subscription.end()
    expect(watch.isHeld).toBe(true)
    three.subscription.end()
    await server.waitForMessage('resources/unsubscribe')
    expect(watch.isHeld).toBe(false)
    expect(asked(server)).toEqual(['subscribe a://1', 'unsubscribe a://1'])
  })

  it('are not given up between the one who leaves and the one who comes', async () => {
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
    expect(asked(server), 'one could overtake the other').toEqual(['subscribe a://1', 'unsubscribe a://1'])
    answers.shift()?.()
    await server.waitForMessage('resources/subscribe', 1)
    answers.shift()?.()
    expect(isGranted(await again)).toBe(true)
    watch.handles(updated('a://1'))
    expect(second.told).toHaveLength(1)
  })

  it('that the server refuses are held by nobody, and can be asked for again', async () => {
    const { watch, connect } = openWatch({ serve: ({ id }, server) => server.refuse(id, -32602, 'no') })
    const server = await connect()
    const one = subscriberTo(watch, 'a://1')
    expect((await one.ask()).frame.envelope.error).toBeDefined()
    expect((await subscriberTo(watch, 'a://1').ask()).frame.envelope.error).toBeDefined()
    expect(asked(server)).toEqual(['subscribe a://1', 'subscribe a://1'])
    watch.handles(updated('a://1'))
    expect([one.told, watch.isHeld]).toEqual([[], false])
  })

  it('are not taken from others by one who cancels, and are given up when nobody is left to want them', async () => {
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
    expect([impatient.told.length, patient.told.length]).toEqual([0, 1])
  })

  it('are asked for again over the next connection, few at a time, without those that nobody wants any more', async () => {
    let open = 0
    let most = 0
    const serve: Serve = ({ id }, server) => {
      most = Math.max(most, ++open)
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
    most = 0
    const server = await connect()
    await server.waitForMessage('resources/subscribe', 58)
    expect(asked(server)).toHaveLength(59)
    expect(asked(server)).not.toContain('subscribe a://7')
    expect(most).toBeLessThanOrEqual(16)
    watch.handles(updated('a://59'))
    expect(subscribers[59]?.told).toHaveLength(1)
  })

  it('that the server does not take back again are told of once, and asked for by the next who wants them', async () => {
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
    expect(asked(server)).toEqual(['subscribe a://1', 'subscribe a://2', 'subscribe a://1'])
  })

  it('are limited, and a place is free again when the last one left', async () => {
    const { watch, connect } = openWatch({ most: 2 })
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

  it('are lost to those who hold them when the server is closed, or another connection is theirs', async () => {
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

  it('cover their parts, and are told of without our own id', async () => {
    const { watch, connect } = openWatch()
    await connect()
    const [folder, file, neighbour] = ['x://h/a', 'x://h/a/b', 'x://h/ab'].map((uri) => subscriberTo(watch, uri))
    for (const each of [folder, file, neighbour]) await each?.ask()
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 7 }
    expect(watch.handles(updated('x://h/a/b', { title: 'b', _meta }))).toBe(true)
    expect(folder?.told).toEqual([{ uri: 'x://h/a/b', title: 'b' }])
    expect([file?.told.length, neighbour?.told.length]).toEqual([1, 0])
  })

  it('are no business of lists, and take no harm from nonsense', async () => {
    const { watch, connect } = openWatch()
    await connect()
    const one = subscriberTo(watch, 'a://1')
    await one.ask()
    expect(watch.handles({ method: 'notifications/tools/list_changed' })).toBe(false)
    for (const params of [undefined, 7, [], { uri: 7 }, { uri: ['a://1'] }])
      expect(watch.handles({ method: 'notifications/resources/updated', params } as unknown as JsonObject)).toBe(true)
    expect(one.told).toEqual([])
  })
})
