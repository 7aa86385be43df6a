import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { createCatalog } from '../../catalog/catalog.test-kit.ts'
import { ANN, toTestFrame } from '../../pipeline/pipeline.test-kit.ts'
import type { ClientCall, Frame } from '../../upstream/upstream.ts'
import { deferred } from '../deferred.test-kit.ts'
import { ClientSubscriptions } from './client-subscriptions.ts'
import { createRequest, createTestMethods, parseReply } from './methods.test-kit.ts'

const GRANTED = toTestFrame({ jsonrpc: '2.0', id: 1, result: {} })
const REFUSED = toTestFrame({ jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'not for you' } })

const resourcesAt = (...uris: readonly string[]) => ({
  capabilities: { tools: {}, resources: { subscribe: true } },
  resources: uris.map((uri) => ({ uri, name: uri })),
})
/** Two servers with resources, so that a URI that neither lists belongs to no server. */
const catalogues = {
  files: createCatalog(['read'], resourcesAt('a://open', 'a://closed')),
  notes: createCatalog(['write'], resourcesAt('b://note')),
}
const subscribe = (uri: string, subscriptions: ClientSubscriptions) =>
  createRequest('resources/subscribe', { uri }, { subscriptions })
const clientOf = () => {
  const received: JsonObject[] = []
  return { received, wanted: new ClientSubscriptions((notification) => void received.push(notification)) }
}
/** Sends an update of the resource of the request with this index. */
const sendUpdate = (requests: readonly ClientCall[], index: number, params: JsonObject): void =>
  requests[index]?.subscription?.update(params)
const listen = (notifications: JsonObject) =>
  createRequest('subscriptions/listen', { notifications }, { era: 'modern' })
const acknowledgedIn = ([first]: readonly JsonObject[]): Json | undefined => {
  expect(first?.method).toBe('notifications/subscriptions/acknowledged')
  return isJsonObject(first?.params) ? first.params.notifications : undefined
}
const errorCode = (message: JsonObject): unknown => (message.error as { data: JsonObject } | undefined)?.data.code

describe(`a legacy subscription (${promise('GW-26')})`, () => {
  it('is active once the server granted it, until it is ended', async () => {
    const { methods, log, requests } = createTestMethods({ catalogues, serve: async () => GRANTED })
    const { wanted, received } = clientOf()
    expect(parseReply(await methods.answer(subscribe('a://open', wanted).request))).toMatchObject({ result: {} })
    expect(wanted.size).toBe(1)
    expect(requests).toMatchObject([{ method: 'resources/subscribe', params: { uri: 'a://open' } }])
    expect(log.types).toEqual(['TOOL_CALL_STARTED', 'TOOL_CALL_COMPLETED'])
    sendUpdate(requests, 0, { uri: 'a://open', extra: 1 })
    const { request } = createRequest('resources/unsubscribe', { uri: 'a://open' }, { subscriptions: wanted })
    await methods.answer(request)
    sendUpdate(requests, 0, { uri: 'a://open' })
    expect(wanted.size).toBe(0)
    expect(received).toEqual([{ method: 'notifications/resources/updated', params: { uri: 'a://open', extra: 1 } }])
  })

  it('sends no updates that its client may not subscribe to by the current rules, mode or approvals', async () => {
    const fields = { forbiddenInModes: ['DEGRADED'], requiresApprovalInModes: ['ALERT'] } as const
    const entries = [{ key: 'mcp__files__resources/read', line: 3, fields, lines: {} }]
    const { methods, requests, setMode } = createTestMethods({
      ...{ catalogues, entries, governance: { enforce: true } },
      serve: async () => GRANTED,
    })
    const { wanted, received } = clientOf()
    await methods.answer(subscribe('a://open', wanted).request)
    const receivedIn: Record<string, number> = {}
    for (const mode of ['NORMAL', 'ALERT', 'DEGRADED', 'LOCKDOWN', 'NORMAL'] as const) {
      setMode(mode)
      const before = received.length
      sendUpdate(requests, 0, { uri: 'a://open' })
      receivedIn[mode] = received.length - before
    }
    expect(receivedIn).toEqual({ NORMAL: 1, ALERT: 0, DEGRADED: 0, LOCKDOWN: 0 })
    expect(wanted.size).toBe(1)
  })

  it(`masks keys, and sends no update if its URI has one (${promise('GOV-18')})`, async () => {
    const { methods, requests } = createTestMethods({ catalogues, serve: async () => GRANTED })
    const { wanted, received } = clientOf()
    await methods.answer(subscribe('a://open', wanted).request)
    const key = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`
    sendUpdate(requests, 0, { uri: `a://open/${key}` })
    sendUpdate(requests, 0, { uri: 'a://open', title: `made with ${key}`, _meta: { key } })
    const params = {
      uri: 'a://open',
      title: 'made with [redacted: GitHub token]',
      _meta: { key: '[redacted: GitHub token]' },
    }
    expect(received).toEqual([{ method: 'notifications/resources/updated', params }])
  })

  it('that is requested twice is stored once, and the former ends when the latter is granted', async () => {
    const released: number[] = []
    const releasedWhenAsked: number[] = []
    const { methods, requests } = createTestMethods({
      catalogues,
      serve: async () => {
        releasedWhenAsked.push(released.length)
        return GRANTED
      },
    })
    const { wanted, received } = clientOf()
    for (const index of [0, 1]) {
      await methods.answer(subscribe('a://open', wanted).request)
      requests[index]?.subscription?.onRelease(() => void released.push(index))
    }
    expect([wanted.size, releasedWhenAsked, released]).toEqual([1, [0, 0], [0]])
    for (const index of [0, 1]) sendUpdate(requests, index, { uri: 'a://open' })
    expect(received).toHaveLength(1)
    wanted.close()
    expect(released).toEqual([0, 1])
  })

  it('that ends, or whose client disconnects, during the request is not stored', async () => {
    const grant = deferred<Frame>()
    const { methods, requests } = createTestMethods({ catalogues, serve: () => grant.promise })
    const { wanted } = clientOf()
    const answers = ['a://open', 'b://note'].map((uri) => methods.answer(subscribe(uri, wanted).request))
    await expect.poll(() => requests.length).toBe(2)
    await methods.answer(createRequest('resources/unsubscribe', { uri: 'a://open' }, { subscriptions: wanted }).request)
    expect(requests.map(({ subscription }) => subscription?.hasEnded)).toEqual([true, false])
    wanted.close()
    grant.resolve(GRANTED)
    await Promise.all(answers)
    expect(wanted.size).toBe(0)
    expect(requests.every(({ subscription }) => subscription?.hasEnded)).toBe(true)
  })

  it('is requested, decided and recorded again when its server is replaced', async () => {
    const frames = [GRANTED, GRANTED, REFUSED]
    const { methods, log, requests } = createTestMethods({ catalogues, serve: async () => frames.shift() ?? REFUSED })
    const { wanted, received } = clientOf()
    await methods.answer(subscribe('a://open', wanted).request)
    requests[0]?.subscription?.markLost()
    await expect.poll(() => requests[0]?.subscription?.hasEnded).toBe(true)
    expect([wanted.size, requests.length, log.events.length]).toEqual([1, 2, 4])
    sendUpdate(requests, 1, { uri: 'a://open' })
    expect(received).toHaveLength(1)
    requests[1]?.subscription?.markLost()
    await expect.poll(() => wanted.size).toBe(0)
    expect(requests).toHaveLength(3)
  })

  it('is not requested again for a client that is gone, nor when the gateway closes', async () => {
    const { methods, log, requests } = createTestMethods({ catalogues, serve: async () => GRANTED })
    const [gone, there] = [clientOf().wanted, clientOf().wanted]
    for (const wanted of [gone, there]) await methods.answer(subscribe('a://open', wanted).request)
    requests[0]?.subscription?.markLost()
    gone.close()
    methods.close()
    requests[1]?.subscription?.markLost()
    await new Promise(setImmediate)
    expect([requests.length, log.events.length]).toEqual([2, 4])
  })

  it('sends no updates of a resource that the caller may no longer see, or that now belongs to another server', async () => {
    const { methods, catalog, requests } = createTestMethods({ catalogues, serve: async () => GRANTED })
    const { wanted, received } = clientOf()
    await methods.answer(subscribe('a://open', wanted).request)
    for (const servers of [['notes'], []]) {
      catalog.reconfigure(servers, 'prefixed')
      sendUpdate(requests, 0, { uri: 'a://open' })
    }
    expect(received).toEqual([])
    catalog.reconfigure(['files', 'notes'], 'prefixed')
    catalog.put('files', catalogues.files)
    sendUpdate(requests, 0, { uri: 'a://open' })
    expect(received).toHaveLength(1)
    wanted.close()
  })

  it('that is denied is recorded, is not sent to a server, and creates no subscription', async () => {
    const { methods, log, requests } = createTestMethods({ catalogues, exclude: ['*'], serve: async () => GRANTED })
    const { wanted } = clientOf()
    const reply = parseReply(await methods.answer(subscribe('a://open', wanted).request))
    expect(errorCode(reply)).toBe('CALL_DENIED')
    expect(wanted.size).toBe(0)
    expect(requests).toEqual([])
    expect(log.events).toMatchObject([{ type: 'POLICY_DENIED', method: 'resources/subscribe', server: 'files' }])
  })

  it('that the server refuses, or that no server offers, creates no subscription', async () => {
    const { methods, log } = createTestMethods({ catalogues, serve: async () => REFUSED })
    const { wanted } = clientOf()
    expect(parseReply(await methods.answer(subscribe('a://open', wanted).request))).toMatchObject({
      error: { code: -32602, message: 'not for you' },
    })
    const unknown = parseReply(await methods.answer(subscribe('c://nobody', wanted).request))
    expect(errorCode(unknown)).toBe('RESOURCE_UNKNOWN')
    expect(wanted.size).toBe(0)
    expect(log.events.at(-1)).toMatchObject({ type: 'TOOL_CALL_FAILED', tool_name: 'c://nobody' })
  })

  it('is limited to a thousand per client, including pending ones', async () => {
    const grant = deferred<Frame>()
    const { methods, requests } = createTestMethods({ catalogues, maxCalls: 2_000, serve: () => grant.promise })
    const { wanted } = clientOf()
    const answers = Array.from({ length: 1_001 }, async (_, index) => {
      const reply = await methods.answer(subscribe('a://open', wanted).request)
      return [index, errorCode(parseReply(reply))]
    })
    grant.resolve(GRANTED)
    const refused = (await Promise.all(answers)).filter(([, code]) => code !== undefined)
    expect(refused).toEqual([[1_000, 'OVERLOADED']])
    expect(requests).toHaveLength(1_000)
    wanted.close()
  })
})

describe(`listening for changes (${promise('GW-26')})`, () => {
  it('is acknowledged only for what is granted, and every resource is decided and recorded', async () => {
    const serve = async ({ params }: { readonly params: JsonObject }): Promise<Frame> =>
      params.uri === 'a://closed' ? REFUSED : GRANTED
    const { methods, hub, log, requests } = createTestMethods({ catalogues, serve })
    const uris = ['a://open', 'a://closed', 'b://note', 'c://nobody', 'a://open', 7]
    const { request, sent, cancellation } = listen({ toolsListChanged: true, resourceSubscriptions: uris })
    const answer = methods.answer(request)
    await expect.poll(() => hub.size).toBe(1)

    const notifications = { toolsListChanged: true, resourceSubscriptions: ['a://open', 'b://note'] }
    expect(acknowledgedIn(sent)).toEqual(notifications)
    expect(requests.map(({ method, name }) => [method, name])).toEqual(
      ['a://open', 'a://closed', 'b://note'].map((uri) => ['resources/subscribe', uri]),
    )
    const ends = log.events.filter(({ type }) => type !== 'TOOL_CALL_STARTED')
    expect(ends).toHaveLength(4)
    expect(ends).toEqual(
      expect.arrayContaining(
        [
          { type: 'TOOL_CALL_COMPLETED', tool_name: 'a://open', success: true },
          { type: 'TOOL_CALL_COMPLETED', tool_name: 'a://closed', success: false },
          { type: 'TOOL_CALL_COMPLETED', tool_name: 'b://note', success: true },
          { type: 'TOOL_CALL_FAILED', tool_name: 'c://nobody', error: 'RESOURCE_UNKNOWN' },
        ].map((end) => expect.objectContaining(end)),
      ),
    )
    for (const index of [1, 2]) sendUpdate(requests, index, { uri: requests[index]?.name ?? '', _meta: { kept: 1 } })
    const _meta = { kept: 1, 'io.modelcontextprotocol/subscriptionId': 1 }
    const news = { method: 'notifications/resources/updated', params: { uri: 'b://note', _meta } }
    expect(sent.slice(1)).toEqual([news])
    cancellation.cancel('the client went away')
    await answer
    expect(hub.size).toBe(0)
    expect(requests.every(({ subscription }) => subscription?.hasEnded)).toBe(true)
  })

  it('sends earlier updates after the acknowledgement', async () => {
    const grant = deferred<Frame>()
    const serve = ({ params }: ClientCall): Promise<Frame> =>
      params.uri === 'b://note' ? grant.promise : Promise.resolve(GRANTED)
    const { methods, requests } = createTestMethods({ catalogues, serve })
    const { request, sent, cancellation } = listen({ resourceSubscriptions: ['a://open', 'b://note'] })
    const answer = methods.answer(request)
    await expect.poll(() => requests.length).toBe(2)
    for (let times = 0; times < 3; times++) sendUpdate(requests, 0, { uri: 'a://open' })
    expect(sent).toEqual([])
    grant.resolve(GRANTED)
    await expect.poll(() => sent.length).toBe(2)
    expect(sent.map(({ method }) => method)).toEqual([
      'notifications/subscriptions/acknowledged',
      'notifications/resources/updated',
    ])
    cancellation.cancel('the client went away')
    await answer
  })

  it('requests no more resources once the client disconnected, and ends its subscriptions', async () => {
    const grant = deferred<Frame>()
    const { methods, requests } = createTestMethods({ catalogues, maxCalls: 100, serve: () => grant.promise })
    const uris = ['a://open', 'a://closed', ...Array.from({ length: 18 }, (_, index) => `a://open?${index}`)]
    const { request, cancellation } = listen({ resourceSubscriptions: uris })
    const answer = methods.answer(request)
    await expect.poll(() => requests.length).toBe(2)
    cancellation.cancel('the client went away')
    expect(requests.map(({ cancellation: own }) => own?.reason)).toEqual([
      'the client went away',
      'the client went away',
    ])
    grant.resolve(GRANTED)
    await answer
    expect(requests).toHaveLength(2)
    expect(requests.every(({ subscription }) => subscription?.hasEnded)).toBe(true)
  })

  it('gets no updates of a denied resource', async () => {
    const { methods, hub, log, requests } = createTestMethods({ catalogues, exclude: ['*'] })
    const { request, sent, cancellation } = listen({ promptsListChanged: true, resourceSubscriptions: ['a://open'] })
    const answer = methods.answer(request)
    await expect.poll(() => hub.size).toBe(1)
    expect(acknowledgedIn(sent)).toEqual({ promptsListChanged: true })
    expect(log.types).toEqual(['POLICY_DENIED'])
    expect(requests).toEqual([])
    expect(sent).toHaveLength(1)
    cancellation.cancel('the client went away')
    await answer
  })

  it('is refused for more than a thousand resources, before any is requested', async () => {
    const { methods, hub, log } = createTestMethods({ catalogues })
    const uris = Array.from({ length: 1_001 }, (_, index) => `a://${index}`)
    expect(errorCode(parseReply(await methods.answer(listen({ resourceSubscriptions: uris }).request)))).toBe(
      'INVALID_PARAMS',
    )
    expect(log.events).toEqual([])
    expect(hub.size).toBe(0)
  })

  it('is limited to the number of clients in the current configuration', async () => {
    let max = 1
    const { methods, hub } = createTestMethods({ catalogues, maxListeners: () => max })
    const [first, second, third] = [listen({}), listen({}), listen({})]
    const answers = [methods.answer(first.request)]
    expect(errorCode(parseReply(await methods.answer(second.request)))).toBe('OVERLOADED')
    max = 2
    answers.push(methods.answer(second.request))
    await expect.poll(() => hub.size).toBe(2)
    expect(errorCode(parseReply(await methods.answer(third.request)))).toBe('OVERLOADED')
    first.cancellation.cancel('the client went away')
    await answers[0]
    answers.push(methods.answer(third.request))
    await expect.poll(() => third.sent).toHaveLength(1)
    for (const { cancellation } of [second, third]) cancellation.cancel('the client went away')
    await Promise.all(answers)
    expect(hub.size).toBe(0)
  })

  it('counts clients whose resources are still being requested, and no longer counts them after an error', async () => {
    const grant = deferred<Frame>()
    const { methods, hub } = createTestMethods({ catalogues, maxListeners: () => 1, serve: () => grant.promise })
    const [slow, other] = [listen({ resourceSubscriptions: ['a://open'] }), listen({})]
    const answer = methods.answer(slow.request)
    expect(errorCode(parseReply(await methods.answer(other.request)))).toBe('OVERLOADED')
    slow.cancellation.cancel('the client went away')
    grant.resolve(GRANTED)
    await answer
    expect(hub.size).toBe(0)
    const uris = Array.from({ length: 1_001 }, String)
    await methods.answer(listen({ resourceSubscriptions: uris }).request)
    const again = methods.answer(other.request)
    await expect.poll(() => other.sent).toHaveLength(1)
    other.cancellation.cancel('the client went away')
    await again
  })

  it('does not count legacy sessions, which have their own limit', async () => {
    const { methods, hub } = createTestMethods({ catalogues, maxListeners: () => 1 })
    const wants = { tools: true, resources: true, prompts: true }
    const leave = hub.add({ principal: ANN, wants, notify: () => {} })
    const { request, sent, cancellation } = listen({})
    const answer = methods.answer(request)
    cancellation.cancel('the client went away')
    expect(parseReply(await answer)).toMatchObject({ result: { resultType: 'complete' } })
    expect(sent).toHaveLength(1)
    leave()
  })
})
