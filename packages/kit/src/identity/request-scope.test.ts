import { EventEmitter, on, once } from 'node:events'
import { Readable } from 'node:stream'
import { setImmediate, setTimeout } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createMcpServer, type McpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'
import { MODERN_META, RawClient } from '../raw-client.test-kit.ts'
import { currentScope, getSessionId, getUserId } from './request-scope.ts'

const REQUESTS = 10_000
const USERS = 100

const who = () => `${getUserId()}/${getSessionId()}`

/** Each way in which a handler can continue asynchronously. */
const WAYS: readonly (() => Promise<readonly string[]>)[] = [
  async () => [who()],
  async () => {
    await setImmediate()
    return [who()]
  },
  async () => {
    await setTimeout(Math.random() * 3)
    return [who()]
  },
  () => new Promise((resolve) => globalThis.setTimeout(() => queueMicrotask(() => resolve([who()])), 1)),
  () => Promise.all(Array.from({ length: 3 }, () => setImmediate().then(who))),
  async () => {
    const seen: string[] = []
    for await (const _ of Readable.from(slowly())) seen.push(who())
    return seen
  },
  async () => {
    const emitter = new EventEmitter()
    const seen: string[] = []
    emitter.on('x', () => seen.push(who()))
    globalThis.setImmediate(() => emitter.emit('x'))
    await once(emitter, 'x')
    return [...seen, who()]
  },
  async () => {
    const emitter = new EventEmitter()
    process.nextTick(() => emitter.emit('y', 1))
    for await (const _ of on(emitter, 'y')) break
    return [who()]
  },
  async () => {
    const stream = new Readable({ read() {} })
    const seen: string[] = []
    stream.on('data', () => seen.push(who()))
    globalThis.setTimeout(() => stream.push('x'), 1)
    globalThis.setTimeout(() => stream.push(null), 2)
    await once(stream, 'end')
    return [...seen, who()]
  },
]

async function* slowly(): AsyncGenerator<string> {
  for (let left = 0; left < 3; left++) {
    await setImmediate()
    yield 'x'
  }
}

function createWandering(): McpServer {
  const server = createMcpServer('wandering')
  const input = { type: 'object', properties: { way: { type: 'integer' } }, required: ['way'] } as const
  server.tool('wander', { description: '', permission: READ, input }, async ({ way }) => {
    const before = who()
    const seen = (await WAYS[way % WAYS.length]?.()) ?? []
    return [before, ...seen, who()]
  })
  return server
}

describe(`${promise('KIT-1')} the caller`, () => {
  it(`is never mixed up: ${REQUESTS} requests of ${USERS} users at once`, async () => {
    const server = createWandering()
    const seen: { readonly owner: string; readonly names: readonly string[] }[] = []
    const all = Array.from({ length: USERS }, (_, user) => {
      const owner = `user-${user}/session-${user % 7}`
      const [userId = '', sessionId = ''] = owner.split('/')
      let left = REQUESTS / USERS
      return new Promise<void>((done) => {
        const connection = server.connect(
          (message) => {
            const { result } = message as { result: { structuredContent: readonly string[] } }
            seen.push({ owner, names: result.structuredContent })
            left -= 1
            if (left === 0) done()
          },
          { identity: { userId, sessionId } },
        )
        for (let id = 1; id <= REQUESTS / USERS; id++) {
          const params = { name: 'wander', arguments: { way: id + user }, _meta: MODERN_META }
          connection.receive({ jsonrpc: '2.0', id, method: 'tools/call', params })
        }
      })
    })
    await Promise.all(all)
    expect(seen).toHaveLength(REQUESTS)
    expect(seen.filter(({ owner, names }) => names.length < 3 || names.some((name) => name !== owner))).toEqual([])
  })

  it('is known in resources and prompts too', async () => {
    const server = createMcpServer('sample')
    server.resource('me://', { name: 'me' }, who)
    server.prompt('me', {}, who)
    const client = new RawClient(server, { userId: 'ada', sessionId: 's1' })
    expect((await client.requestModern('resources/read', { uri: 'me://' })).result.contents[0].text).toBe('ada/s1')
    expect((await client.requestModern('prompts/get', { name: 'me' })).result.messages[0].content.text).toBe('ada/s1')
  })

  it('is undefined outside of a call, and on a connection without an identity', async () => {
    for (const ask of [getUserId, getSessionId, currentScope]) expect(ask).toThrow(/There is no caller here/)
    const server = createMcpServer('sample', { onBug: () => undefined })
    server.tool('me', { description: '', permission: READ }, who)
    expect((await new RawClient(server).requestModern('tools/call', { name: 'me' })).result.isError).toBe(true)
  })

  it('is not inherited by a server that is called from a handler of another server', async () => {
    const inner = createMcpServer('inner', { onBug: () => undefined })
    inner.tool('me', { description: '', permission: READ }, who)
    const outer = createMcpServer('outer')
    outer.tool('ask', { description: '', permission: READ }, async () => {
      const nobody = await new RawClient(inner).requestModern('tools/call', { name: 'me' })
      const other = new RawClient(inner, { userId: 'bob', sessionId: 's2' })
      const bob = await other.requestModern('tools/call', { name: 'me' })
      return [nobody.result.isError, bob.result.content[0].text, who()]
    })
    const client = new RawClient(outer, { userId: 'ada', sessionId: 's1' })
    const { result } = await client.requestModern('tools/call', { name: 'ask' })
    expect(result.structuredContent).toEqual([true, 'bob/s2', 'ada/s1'])
  })

  it('cannot be changed by a handler', async () => {
    const server = createMcpServer('sample')
    server.tool('become', { description: '', permission: READ }, () => {
      const scope = currentScope() as { userId: string }
      expect(() => {
        scope.userId = 'root'
      }).toThrow(TypeError)
      return who()
    })
    const client = new RawClient(server, { userId: 'ada', sessionId: 's1' })
    expect((await client.requestModern('tools/call', { name: 'become' })).result.content[0].text).toBe('ada/s1')
  })
})
