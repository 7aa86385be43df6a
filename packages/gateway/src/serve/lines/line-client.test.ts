import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { duplexPair } from 'node:stream'
import type { JsonObject } from '@sallyport/core'
import { BodyBudget } from '@sallyport/kit/http-intake'
import { afterEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { createCatalog } from '../../catalog/catalog.test-kit.ts'
import { ANN, createTestPipeline, toTestFrame } from '../../pipeline/pipeline.test-kit.ts'
import type { ClientCall, Frame } from '../../upstream/upstream.ts'
import { deferred } from '../deferred.test-kit.ts'
import { ChangeHub } from '../rpc/change-hub.ts'
import { createIds } from '../rpc/ids.ts'
import { Methods } from '../rpc/methods.ts'
import { LineClient } from './line-client.ts'

type Serve = (request: ClientCall) => Promise<Frame>

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

function createMethods(serve: Serve | undefined) {
  const testPipeline = createTestPipeline({
    maxCalls: 100,
    catalogues: { files: createCatalog(['read']) },
    ...(serve && { serve }),
  })
  const hub = new ChangeHub()
  const { catalog, listings, pipeline } = testPipeline
  const methods = new Methods({
    catalog,
    listings,
    pipeline,
    hub,
    ids: createIds(),
    version: '1',
    maxListeners: () => 10,
    onBug: String,
    waitForServers: () => undefined,
    ownLists: { ofServer: () => undefined, ofAll: () => undefined, prepare: () => undefined },
    findAbsentServer: () => undefined,
    findStartingServer: () => undefined,
  })
  return { testPipeline, hub, methods }
}

/** Both ends of a real socket: the gateway's and the test's. */
const ROOM = { maxBytesPerOwner: () => 1_000_000, maxTotalBytes: () => 1_000_000 }

async function openClient(serve?: Serve, maxMessageBytes = 100_000, bodies = new BodyBudget(ROOM)) {
  const { testPipeline, hub, methods } = createMethods(serve)
  let served: Promise<void> | undefined
  const server = createServer({ allowHalfOpen: true }, (stream) => {
    served = new LineClient({
      stream,
      principal: ANN,
      methods,
      hub,
      maxMessageBytes,
      bodies,
      onConversation: () => {},
    }).serve()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect({ port: (server.address() as { port: number }).port, host: '127.0.0.1', allowHalfOpen: true })
  await once(socket, 'connect')
  closers.push(async () => {
    socket.destroy()
    await served
    server.close()
    await once(server, 'close')
    expect(hub.size).toBe(0)
    expect(testPipeline.gauge.inFlight).toBe(0)
  })
  const lines = createInterface({ input: socket })[Symbol.asyncIterator]()
  const next = async (): Promise<JsonObject> => JSON.parse((await lines.next()).value as string) as JsonObject
  return { ...testPipeline, hub, socket, next, served: () => served, lines }
}

const send = (socket: Socket, message: JsonObject | string): void =>
  void socket.write(`${typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const call = (id: string | number, params: JsonObject = {}): JsonObject => ({
  id,
  method: 'tools/call',
  params: { name: 'files_read', ...params },
})
const INITIALIZE = { id: 'i', method: 'initialize', params: { protocolVersion: '2025-06-18' } }

describe(`a client over lines (${promise('GW-21')})`, () => {
  it('is initialized with its own version, lists and calls', async () => {
    const { socket, next } = await openClient()
    send(socket, INITIALIZE)
    expect(await next()).toMatchObject({ id: 'i', result: { protocolVersion: '2025-06-18' } })
    send(socket, { id: 1, method: 'tools/list' })
    expect(await next()).toMatchObject({ id: 1, result: { tools: [{ name: 'files_read' }] } })
    send(socket, call('two'))
    expect(await next()).toMatchObject({ id: 'two', result: { content: [] } })
  })

  it('gets answers with its own ids, in whatever order servers answer', async () => {
    const waiting = new Map<unknown, (frame: Frame) => void>()
    const { socket, next } = await openClient(
      ({ params }) =>
        new Promise((resolve) => {
          waiting.set((params.arguments as JsonObject).n, resolve)
          if (waiting.size === 3) {
            for (const n of [2, 0, 1]) waiting.get(n)?.(toTestFrame({ id: 9, result: { n } }))
          }
        }),
    )
    const ids = ['a', 0, '__proto__']
    for (const [n, id] of ids.entries()) send(socket, call(id, { arguments: { n } }))
    const answers = [await next(), await next(), await next()]
    expect(answers).toHaveLength(3)
    for (const [n, id] of ids.entries()) expect(answers.find((answer) => answer.id === id)?.result).toEqual({ n })
  })

  it('gets a precise error for an invalid message, and continues', async () => {
    const { socket, next } = await openClient(undefined, 200)
    send(socket, '{"jsonrpc":')
    expect(await next()).toMatchObject({ id: null, error: { code: -32700 } })
    send(socket, '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"a":12345678901234567890}}')
    expect(await next()).toMatchObject({ id: 5, error: { code: -32700 } })
    send(socket, `"${'x'.repeat(500)}"`)
    expect(await next()).toMatchObject({ id: null, error: { code: -32600 } })
    send(socket, { id: 6, method: '__proto__' })
    expect(await next()).toMatchObject({ id: 6, error: { code: -32601 } })
    send(socket, { id: 7, method: 'ping' })
    expect(await next()).toMatchObject({ id: 7, result: {} })
  })

  it('learns which of its requests was too large, however it arrived', async () => {
    const { socket, next } = await openClient(undefined, 200)
    const large = 'x'.repeat(100_000)
    const refusal = { error: { code: -32600, data: { code: 'BODY_TOO_LARGE', retryable: false } } }
    send(socket, call(7, { arguments: { large, id: 8 } }))
    expect(await next()).toMatchObject({ id: 7, ...refusal })
    send(socket, `{"jsonrpc":"2.0","method":"tools/call","params":{"large":"${large}"},"id":"late"}`)
    expect(await next()).toMatchObject({ id: 'late', ...refusal })
    for (const piece of [`{"id":"cut`, ` up","method":"ping","params":{"large":"`, large, large, '"}}\n'])
      socket.write(piece)
    expect(await next()).toMatchObject({ id: 'cut up', ...refusal })
    for (const message of [
      { id: 9, result: { large } },
      { method: 'notifications/progress', params: { large } },
      { id: 'i'.repeat(257), method: 'ping', params: { large } },
      { id: 1.5, method: 'ping', params: { large } },
    ]) {
      send(socket, message)
      expect(await next()).toMatchObject({ id: null, ...refusal })
    }
    send(socket, `{"id":10,"method":"ping","params":{"large":"${large}"`)
    expect(await next()).toMatchObject({ id: null, ...refusal })
    send(socket, { id: 11, method: 'ping' })
    expect(await next()).toMatchObject({ id: 11, result: {} })
  })

  it('may not reuse an id while its request is in flight', async () => {
    let finish = (): void => {}
    const { socket, next } = await openClient(
      () => new Promise((resolve) => (finish = () => resolve(toTestFrame({ id: 9, result: {} })))),
    )
    send(socket, call(1))
    send(socket, call(1))
    expect(await next()).toMatchObject({ id: 1, error: { code: -32600 } })
    finish()
    expect(await next()).toMatchObject({ id: 1, result: {} })
    send(socket, { id: 1, method: 'ping' })
    expect(await next()).toMatchObject({ id: 1, result: {} })
  })

  it('gets no answer to a cancelled request, and the server is notified', async () => {
    const received = deferred<ClientCall>()
    const { socket, next } = await openClient((request) => {
      received.resolve(request)
      return new Promise((resolve) => request.cancellation?.onCancel(() => resolve(toTestFrame({ id: 9, result: {} }))))
    })
    send(socket, call(1))
    const { cancellation } = await received.promise
    send(socket, { method: 'notifications/cancelled', params: { requestId: 1 } })
    send(socket, { method: 'notifications/cancelled', params: { requestId: 'unknown' } })
    for (const id of [2, 3]) {
      send(socket, { id, method: 'ping' })
      expect(await next()).toMatchObject({ id })
    }
    expect(cancellation?.reason).toBe('the client cancelled it')
  })

  it('gets the answer in a later event-loop turn than the progress, which the SDKs would otherwise lose', async () => {
    const received: string[] = []
    const { hub, methods } = createMethods(async ({ onProgress }) => {
      onProgress?.({ progress: 1 })
      setImmediate(() => received.push('the turn is over'))
      return toTestFrame({ jsonrpc: '2.0', id: 1, result: { content: [] } })
    })
    const [near, far] = duplexPair()
    const served = new LineClient({
      stream: far,
      principal: ANN,
      methods,
      hub,
      maxMessageBytes: 1_000,
      bodies: new BodyBudget(ROOM),
      onConversation: () => {},
    }).serve()
    const answered = new Promise<void>((resolve) => {
      createInterface({ input: near }).on('line', (line) => {
        const { method = 'the answer' } = JSON.parse(line)
        received.push(method)
        if (method === 'the answer') setImmediate(resolve)
      })
    })
    near.write(`${JSON.stringify({ jsonrpc: '2.0', ...call(1, { _meta: { progressToken: 'p' } }) })}\n`)
    await answered
    near.end()
    await served
    expect(received).toEqual(['notifications/progress', 'the turn is over', 'the answer'])
  })

  it('whose line stalls gets an error at its end, and continues', async () => {
    const stalling = new BodyBudget({ ...ROOM, stallTimeoutMs: 5 })
    const { socket, next } = await openClient(undefined, 100_000, stalling)
    socket.write('{"jsonrpc":"2.0","id":4,"method":"ping","params":{"a":"')
    // Only waiting can show that the line was given up.
    await new Promise((resolve) => setTimeout(resolve, 100))
    socket.write('"}}\n{"jsonrpc":"2.0","id":5,"method":"ping"}\n')
    expect(await next()).toMatchObject({ id: 4, error: { data: { code: 'BODY_STALLED', retryable: true } } })
    expect(await next()).toMatchObject({ id: 5, result: {} })
  })

  it('whose line exceeds its share of the budget is refused, and continues', async () => {
    const { socket, next } = await openClient(
      undefined,
      100_000,
      new BodyBudget({ ...ROOM, maxBytesPerOwner: () => 500 }),
    )
    socket.write('{"jsonrpc":"2.0","id":4,"method":"ping",')
    await new Promise((resolve) => setImmediate(resolve))
    for (let sent = 0; sent < 20; sent++) {
      socket.write(' '.repeat(100))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    socket.write('"params":{}}\n{"jsonrpc":"2.0","id":5,"method":"ping"}\n')
    expect(await next()).toMatchObject({ id: 4, error: { data: { code: 'RATE_LIMITED' } } })
    expect(await next()).toMatchObject({ id: 5, result: {} })
  })

  it('gets progress before the answer, with its own token', async () => {
    const { socket, next } = await openClient(async ({ onProgress }) => {
      onProgress?.({ progress: 1 })
      onProgress?.({ progress: 2 })
      return toTestFrame({ id: 9, result: {} })
    })
    send(socket, call(1, { _meta: { progressToken: 'mine' } }))
    for (const progress of [1, 2]) {
      expect(await next()).toMatchObject({
        method: 'notifications/progress',
        params: { progressToken: 'mine', progress },
      })
    }
    expect(await next()).toMatchObject({ id: 1 })
  })

  it('is notified of changes only after it is initialized', async () => {
    const { socket, next, hub, catalog } = await openClient()
    catalog.onChange((change) => hub.listsChanged(change))
    expect(hub.size).toBe(0)
    send(socket, INITIALIZE)
    await next()
    expect(hub.size).toBe(0)
    for (let twice = 0; twice < 2; twice++) send(socket, { method: 'notifications/initialized' })
    send(socket, { id: 1, method: 'ping' })
    await next()
    expect(hub.size).toBe(1)
    catalog.put('files', createCatalog(['other']))
    expect(await next()).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  })

  it('that disconnects cancels its requests', async () => {
    const received = deferred<ClientCall>()
    const { socket, served } = await openClient((request) => {
      received.resolve(request)
      return new Promise((resolve) => request.cancellation?.onCancel(() => resolve(toTestFrame({ id: 9, result: {} }))))
    })
    send(socket, call(1))
    const { cancellation } = await received.promise
    socket.resetAndDestroy()
    await served()
    expect(cancellation?.reason).toBe('the client went away')
  })

  it('that does not read is not read from, and loses nothing', async () => {
    const big = 'x'.repeat(1_000_000)
    const { socket, next, requests } = await openClient(async () => toTestFrame({ id: 9, result: { big } }))
    for (let id = 0; id < 40; id++) send(socket, call(id))
    for (let id = 0; id < 40; id++) expect((await next()).id).toBe(id)
    expect(requests).toHaveLength(40)
  })
})
