import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { catalogueOf } from '../catalog/catalogue.test-kit.ts'
import { frameOf } from '../pipeline/pipeline.test-kit.ts'
import type { Frame } from '../upstream/upstream.ts'
import { deferred } from './deferred.test-kit.ts'
import { createMethodsBench, messageOf, requestOf } from './methods.test-kit.ts'

const GRANTED = frameOf({ jsonrpc: '2.0', id: 1, result: {} })
const REFUSED = frameOf({ jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'not for you' } })

const resourcesAt = (...uris: readonly string[]) => ({
  capabilities: { tools: {}, resources: { subscribe: true } },
  resources: uris.map((uri) => ({ uri, name: uri })),
})
/** Two servers with resources, so that a URI which neither lists is nobody's. */
const catalogues = {
  files: catalogueOf(['read'], resourcesAt('a://open', 'a://closed')),
  notes: catalogueOf(['write'], resourcesAt('b://note')),
}
const subscribe = (uri: string, subscriptions: Set<string>) =>
  requestOf('resources/subscribe', { uri }, { subscriptions })
const listen = (notifications: JsonObject) => requestOf('subscriptions/listen', { notifications }, { era: 'modern' })
const acknowledgedIn = ([first]: readonly JsonObject[]): Json | undefined => {
  expect(first?.method).toBe('notifications/subscriptions/acknowledged')
  return isJsonObject(first?.params) ? first.params.notifications : undefined
}
const errorCode = (message: JsonObject): unknown => (message.error as { data: JsonObject } | undefined)?.data.code

describe(`a legacy subscription (${promise('GW-26')})`, () => {
  it('holds once the server granted it, and until it is taken back', async () => {
    const { methods, log, requests } = createMethodsBench({ catalogues, serve: async () => GRANTED })
    const wanted = new Set<string>()
    expect(messageOf(await methods.answer(subscribe('a://open', wanted).request))).toMatchObject({ result: {} })
    expect([...wanted]).toEqual(['a://open'])
    expect(requests).toMatchObject([{ method: 'resources/subscribe', params: { uri: 'a://open' } }])
    expect(log.types).toEqual(['TOOL_CALL_STARTED', 'TOOL_CALL_COMPLETED'])
    const { request } = requestOf('resources/unsubscribe', { uri: 'a://open' }, { subscriptions: wanted })
    await methods.answer(request)
    expect(wanted.size).toBe(0)
  })

  it('that is denied is recorded, reaches no server, and subscribes to nothing', async () => {
    const { methods, log, requests } = createMethodsBench({ catalogues, exclude: ['*'], serve: async () => GRANTED })
    const wanted = new Set<string>()
    const reply = messageOf(await methods.answer(subscribe('a://open', wanted).request))
    expect(errorCode(reply)).toBe('CALL_DENIED')
    expect(wanted.size).toBe(0)
    expect(requests).toEqual([])
    expect(log.events).toMatchObject([{ type: 'POLICY_DENIED', method: 'resources/subscribe', server: 'files' }])
  })

  it('that the server refuses, or that nobody offers, subscribes to nothing', async () => {
    const { methods, log } = createMethodsBench({ catalogues, serve: async () => REFUSED })
    const wanted = new Set<string>()
    expect(messageOf(await methods.answer(subscribe('a://open', wanted).request))).toMatchObject({
      error: { code: -32602, message: 'not for you' },
    })
    const unknown = messageOf(await methods.answer(subscribe('c://nobody', wanted).request))
    expect(errorCode(unknown)).toBe('RESOURCE_UNKNOWN')
    expect(wanted.size).toBe(0)
    expect(log.events.at(-1)).toMatchObject({ type: 'TOOL_CALL_FAILED', tool_name: 'c://nobody' })
  })

  it('is one of a thousand at most', async () => {
    const { methods, requests } = createMethodsBench({ catalogues, serve: async () => GRANTED })
    const wanted = new Set(Array.from({ length: 999 }, (_, index) => `a://${index}`))
    expect(messageOf(await methods.answer(subscribe('a://open', wanted).request))).toMatchObject({ result: {} })
    const reply = messageOf(await methods.answer(subscribe('a://closed', wanted).request))
    expect(errorCode(reply)).toBe('OVERLOADED')
    expect(wanted.size).toBe(1_000)
    expect(requests).toHaveLength(1)
  })
})

describe(`listening for changes (${promise('GW-26')})`, () => {
  it('is acknowledged for what is granted alone; every resource is decided and recorded', async () => {
    const serve = async ({ params }: { readonly params: JsonObject }): Promise<Frame> =>
      params.uri === 'a://closed' ? REFUSED : GRANTED
    const { methods, hub, log, requests } = createMethodsBench({ catalogues, serve })
    const uris = ['a://open', 'a://closed', 'b://note', 'c://nobody', 'a://open', 7]
    const { request, told, cancellation } = listen({ toolsListChanged: true, resourceSubscriptions: uris })
    const answer = methods.answer(request)
    await expect.poll(() => hub.size).toBe(1)

    const notifications = { toolsListChanged: true, resourceSubscriptions: ['a://open', 'b://note'] }
    expect(acknowledgedIn(told)).toEqual(notifications)
    expect(requests.map(({ method, name }) => [method, name])).toEqual(
      ['a://open', 'a://closed', 'b://note'].map((uri) => ['resources/subscribe', uri]),
    )
    expect(log.events.filter(({ type }) => type !== 'TOOL_CALL_STARTED')).toMatchObject([
      { type: 'TOOL_CALL_COMPLETED', tool_name: 'a://open', success: true },
      { type: 'TOOL_CALL_COMPLETED', tool_name: 'a://closed', success: false },
      { type: 'TOOL_CALL_COMPLETED', tool_name: 'b://note', success: true },
      { type: 'TOOL_CALL_FAILED', tool_name: 'c://nobody', error: 'RESOURCE_UNKNOWN' },
    ])

    for (const uri of ['a://closed', 'c://nobody', 'b://note']) hub.resourceUpdated(uri)
    expect(told.slice(1)).toMatchObject([{ method: 'notifications/resources/updated', params: { uri: 'b://note' } }])
    cancellation.cancel('the client went away')
    await answer
    expect(hub.size).toBe(0)
  })

  it('hears of no resource that is denied', async () => {
    const { methods, hub, log, requests } = createMethodsBench({ catalogues, exclude: ['*'] })
    const { request, told, cancellation } = listen({ promptsListChanged: true, resourceSubscriptions: ['a://open'] })
    const answer = methods.answer(request)
    await expect.poll(() => hub.size).toBe(1)
    expect(acknowledgedIn(told)).toEqual({ promptsListChanged: true })
    expect(log.types).toEqual(['POLICY_DENIED'])
    expect(requests).toEqual([])
    hub.resourceUpdated('a://open')
    expect(told).toHaveLength(1)
    cancellation.cancel('the client went away')
    await answer
  })

  it('is refused for more than a thousand resources, before any is asked for', async () => {
    const { methods, hub, log } = createMethodsBench({ catalogues })
    const uris = Array.from({ length: 1_001 }, (_, index) => `a://${index}`)
    expect(errorCode(messageOf(await methods.answer(listen({ resourceSubscriptions: uris }).request)))).toBe(
      'INVALID_PARAMS',
    )
    expect(log.events).toEqual([])
    expect(hub.size).toBe(0)
  })

  it('is for so many at once as the configuration says now', async () => {
    let most = 1
    const { methods, hub } = createMethodsBench({ catalogues, maxListeners: () => most })
    const [first, second, third] = [listen({}), listen({}), listen({})]
    const answers = [methods.answer(first.request)]
    expect(errorCode(messageOf(await methods.answer(second.request)))).toBe('OVERLOADED')
    most = 2
    answers.push(methods.answer(second.request))
    await expect.poll(() => hub.size).toBe(2)
    expect(errorCode(messageOf(await methods.answer(third.request)))).toBe('OVERLOADED')
    first.cancellation.cancel('the client went away')
    await answers[0]
    answers.push(methods.answer(third.request))
    await expect.poll(() => third.told).toHaveLength(1)
    for (const { cancellation } of [second, third]) cancellation.cancel('the client went away')
    await Promise.all(answers)
    expect(hub.size).toBe(0)
  })

  it('counts those whose resources are still being asked for, and gives their place back when that breaks', async () => {
    const asked = deferred<Frame>()
    const { methods, hub } = createMethodsBench({ catalogues, maxListeners: () => 1, serve: () => asked.promise })
    const [slow, other] = [listen({ resourceSubscriptions: ['a://open'] }), listen({})]
    const answer = methods.answer(slow.request)
    expect(errorCode(messageOf(await methods.answer(other.request)))).toBe('OVERLOADED')
    slow.cancellation.cancel('the client went away')
    asked.resolve(GRANTED)
    await answer
    expect(hub.size).toBe(0)
    const uris = Array.from({ length: 1_001 }, String)
    await methods.answer(listen({ resourceSubscriptions: uris }).request)
    const again = methods.answer(other.request)
    await expect.poll(() => other.told).toHaveLength(1)
    other.cancellation.cancel('the client went away')
    await again
  })

  it('does not count legacy sessions, which have a limit of their own', async () => {
    const { methods, hub } = createMethodsBench({ catalogues, maxListeners: () => 1 })
    const wants = { tools: true, resources: true, prompts: true }
    const leave = hub.add({ wants, wantsResource: () => false, tell: () => {} })
    const { request, told, cancellation } = listen({})
    const answer = methods.answer(request)
    cancellation.cancel('the client went away')
    expect(messageOf(await answer)).toMatchObject({ result: { resultType: 'complete' } })
    expect(told).toHaveLength(1)
    leave()
  })
})
