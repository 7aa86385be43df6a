import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { createHttpHandler, createMcpServer, getUserId, type HttpHandler, type McpServer, READ } from '@sallyport/kit'
// @ts-expect-error: it has no types of its own.
import express from 'express'
import { Hono } from 'hono'
import { afterEach, describe, expect, test } from 'vitest'
import { CallerSigner, SERVER_ID, withToken } from '../../packages/kit/src/identity/gateway/caller-signer.test-kit.ts'
import { LegacyClient, modernRequest, post } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { promise } from '../promises.ts'

const gateway = new CallerSigner('k1')
const GATEWAY = { keys: gateway.keys, audience: SERVER_ID }
const SECRET = 'rZ8mJ2qX5vB7nT4kW9cL1pD6sG3hF0yA'

const bugs: unknown[] = []
const closers: (() => unknown)[] = []
afterEach(async () => {
  expect(bugs.splice(0)).toEqual([])
  for (const close of closers.splice(0).reverse()) await close()
})

interface Mounted {
  readonly url: string
  readonly cancelled: string[]
}

function createMcp(auth: object = { gateway: GATEWAY }): McpServer & { readonly cancelled: string[] } {
  const server = createMcpServer('records', { auth, onBug: (bug) => bugs.push(bug) })
  const cancelled: string[] = []
  server.tool('whoami', { description: 'Says who calls', permission: READ }, () => getUserId())
  server.tool('noisy', { description: 'Tells how far it is', permission: READ }, (_, { progress }) => {
    progress(1, 2)
    return 'done'
  })
  server.tool('wait', { description: 'Waits', permission: READ }, (_, { signal, progress }) => {
    progress(1)
    return new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => {
        cancelled.push('wait')
        reject(signal.reason)
      }),
    )
  })
  return Object.assign(server, { cancelled })
}

async function listen(listener: Server): Promise<number> {
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  closers.push(() => new Promise((done) => listener.close(done).closeAllConnections()))
  return (listener.address() as AddressInfo).port
}

/** The port is known only when the server listens, and the handler needs it. */
function lateHandler(mcp: McpServer) {
  let handler: HttpHandler | undefined
  return {
    open(port: number): void {
      const made = createHttpHandler(mcp, { allowedHosts: [`127.0.0.1:${port}`] })
      closers.push(() => made.close())
      handler = made
    },
    get handler(): HttpHandler {
      if (handler === undefined) throw new Error('The server does not listen yet.')
      return handler
    },
  }
}

const FRAMEWORKS: Readonly<Record<string, (mcp: McpServer) => Promise<number>>> = {
  async 'node:http'(mcp) {
    const late = lateHandler(mcp)
    const listener = createServer((request, response) => {
      if (request.url === '/mine') return response.end('mine')
      return late.handler.node(request, response)
    })
    const port = await listen(listener)
    late.open(port)
    return port
  },
  async Express(mcp) {
    const late = lateHandler(mcp)
    const app = express()
    app.get('/mine', (_: IncomingMessage, response: ServerResponse) => void response.end('mine'))
    app.all('/mcp', (request: IncomingMessage, response: ServerResponse) => late.handler.node(request, response))
    const port = await listen(createServer(app))
    late.open(port)
    return port
  },
  async Hono(mcp) {
    const late = lateHandler(mcp)
    const app = new Hono()
    app.get('/mine', (context) => context.text('mine'))
    app.all('/mcp', (context) => late.handler.fetch(context.req.raw))
    const listener = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server
    await once(listener, 'listening')
    closers.push(() => new Promise((done) => listener.close(done).closeAllConnections()))
    const { port } = listener.address() as AddressInfo
    late.open(port)
    return port
  },
}

async function mount(framework: string, auth?: object): Promise<Mounted> {
  const mcp = createMcp(auth)
  const port = await FRAMEWORKS[framework]?.(mcp)
  return { url: `http://127.0.0.1:${port}/mcp`, cancelled: mcp.cancelled }
}

const asGateway = { authorization: `Bearer ${SECRET}` }
const withSecret = { gateway: { ...GATEWAY, secret: SECRET } }
const callOf = (name: string, more: object = {}) => {
  const { _meta } = withToken(gateway.token())
  return { name, arguments: {}, _meta: { ..._meta, ...more } }
}

describe.each(Object.keys(FRAMEWORKS))(`a server that is mounted into %s (${promise('KIT-19')})`, (framework) => {
  test('answers both eras beside other routes, for forwarded callers', async () => {
    const { url } = await mount(framework, withSecret)
    expect(await (await fetch(new URL('/mine', url))).text()).toBe('mine')
    const { message } = await modernRequest(url, 'tools/call', callOf('whoami'), asGateway)
    expect(message.result.content[0].text).toBe('ada')
    const session = await LegacyClient.open(url, asGateway)
    expect((await session.request('tools/call', callOf('whoami'))).message.result.content[0].text).toBe('ada')
    const streamed = await modernRequest(url, 'tools/call', callOf('noisy', { progressToken: 'p' }), asGateway)
    expect(streamed.headers.get('content-type')).toBe('text/event-stream')
    expect(streamed.before).toHaveLength(1)
    expect(streamed.message.result.content[0].text).toBe('done')
  })

  test('checks the sender, the host and the origin as always', async () => {
    const { url } = await mount(framework, withSecret)
    const refused = await modernRequest(url, 'tools/list')
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Bearer /)])
    const page = await modernRequest(url, 'tools/list', {}, { ...asGateway, origin: 'https://evil.example' })
    expect(page.status).toBe(403)
    expect((await post(url, '{', asGateway)).status).toBe(400)
    expect((await fetch(url, { method: 'DELETE', headers: asGateway })).status).toBe(405)
  })

  test('cancels a call when its client leaves', async () => {
    const { url, cancelled } = await mount(framework, withSecret)
    const left = new AbortController()
    const params = callOf('wait', {
      progressToken: 'p',
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    })
    const response = await fetch(url, {
      method: 'POST',
      signal: left.signal,
      headers: {
        ...asGateway,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'wait' },
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    expect(response.status).toBe(200)
    left.abort()
    expect(
      await eventually(
        () => cancelled.length,
        (count) => count === 1,
      ),
    ).toBe(1)
  })
})

test('a server without a secret is answered on loopback, and nowhere where the address is unknown', async () => {
  const { url } = await mount('node:http')
  expect((await modernRequest(url, 'tools/call', callOf('whoami'))).message.result.content[0].text).toBe('ada')
  const hidden = await mount('Hono')
  const { status, message } = await modernRequest(hidden.url, 'tools/call', callOf('whoami'))
  expect([status, message.error.message]).toEqual([403, expect.stringContaining('on loopback only')])
})

test('a call through fetch() is cancelled with its signal, also before it sent anything', async () => {
  const mcp = createMcp(withSecret)
  const begun = new Promise<void>((resolve) => {
    mcp.tool('begin', { description: 'Waits quietly', permission: READ }, (_, { signal }) => {
      resolve()
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          mcp.cancelled.push('begin')
          reject(signal.reason)
        }),
      )
    })
  })
  const handler = createHttpHandler(mcp, { allowedHosts: ['mcp.example'] })
  closers.push(() => handler.close())
  const left = new AbortController()
  const versioned = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
  const params = callOf('begin', { ...versioned, 'io.modelcontextprotocol/clientCapabilities': {} })
  const answer = handler.fetch(
    new Request('http://mcp.example/mcp', {
      method: 'POST',
      signal: left.signal,
      headers: {
        ...{ ...asGateway, 'content-type': 'application/json', accept: 'application/json' },
        ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'begin' },
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    }),
  )
  await begun
  left.abort()
  await expect(answer).rejects.toThrow(/abort/i)
  expect(
    await eventually(
      () => mcp.cancelled,
      (seen) => seen.length === 1,
    ),
  ).toEqual(['begin'])
})

test('a body that another parser has read is refused at once, with the remedy', async () => {
  const late = lateHandler(createMcp())
  const app = express()
  app.use(express.json())
  app.all('/mcp', (request: IncomingMessage, response: ServerResponse) => late.handler.node(request, response))
  const port = await listen(createServer(app))
  late.open(port)
  const { status, message } = await modernRequest(`http://127.0.0.1:${port}/mcp`, 'tools/list')
  expect([status, message.error.message]).toEqual([400, expect.stringContaining('express.json()')])
})

test('a handler needs hosts, and a server that can identify callers', () => {
  expect(() => createHttpHandler(createMcp(), { allowedHosts: [] })).toThrow(/no allowedHosts/)
  expect(() => createHttpHandler(createMcpServer('x'), { allowedHosts: ['a'] })).toThrow(/neither "auth" nor "dev"/)
})
