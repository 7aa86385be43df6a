import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SelfSigned } from './self-signed.ts'

type Message = Record<string, any>

export interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders
  readonly message: Message
}

export interface ModernUpstream {
  readonly url: string
  readonly received: readonly ReceivedRequest[]
  /** The messages of one method that it received. */
  of(method: string): readonly ReceivedRequest[]
  close(): Promise<void>
}

export interface ModernUpstreamOptions {
  readonly tools?: readonly object[]
  /** What a call of a tool is answered with, besides its type. */
  readonly results?: Readonly<Record<string, object | ((params: Message) => object)>>
  readonly ttlMs?: number
  /** What it declares besides tools. */
  readonly extensions?: object
  /** What other methods are answered with. */
  readonly answers?: Readonly<Record<string, (params: Message) => object>>
  /** `server/discover` is answered with this status and a legacy handshake is possible. */
  readonly discoverStatus?: () => number
  /** Awaited before a message is answered. */
  readonly hold?: (message: Message) => Promise<void> | undefined
  /** It is reached by TLS. */
  readonly tls?: SelfSigned
}

/** A server of the modern era over HTTP that records what it receives. It is as strict with headers as the protocol. */
export async function openModernUpstream(options: ModernUpstreamOptions = {}): Promise<ModernUpstream> {
  const received: ReceivedRequest[] = []
  const hear = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const message = JSON.parse(await bodyOf(request)) as Message
    received.push({ headers: request.headers, message })
    await options.hold?.(message)
    answer(response, message, options)
  }
  const { tls } = options
  const server = tls ? createSecureServer(tls, hear) : createServer(hear)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    received,
    of: (method) => received.filter(({ message }) => message.method === method),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function answer(response: ServerResponse, message: Message, options: ModernUpstreamOptions): void {
  const status = message.method === 'server/discover' ? (options.discoverStatus?.() ?? 200) : 200
  if (message.id === undefined) return void response.writeHead(202).end()
  const result = status === 200 ? resultOf(message, options) : undefined
  const body = result ? { result } : { error: { code: -32601, message: 'no such method' } }
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body }))
}

const INFO = { capabilities: { tools: {} }, serverInfo: { name: 'strict', version: '1' } }

function resultOf({ method, params }: Message, options: ModernUpstreamOptions): object | undefined {
  const { tools = [], results = {}, ttlMs = 0, extensions, answers = {} } = options
  const declared = { ...INFO, capabilities: { ...INFO.capabilities, ...(extensions && { extensions }) } }
  const caching = { resultType: 'complete', ttlMs, cacheScope: 'public' }
  if (method === 'server/discover') return { ...caching, supportedVersions: ['2026-07-28'], ...declared }
  if (method === 'tools/list') return { ...caching, tools }
  if (method === 'initialize') return { protocolVersion: params.protocolVersion, ...INFO }
  if (method !== 'tools/call') return answers[method]?.(params)
  const _meta = { 'io.modelcontextprotocol/serverInfo': INFO.serverInfo }
  const own = results[params.name]
  const more = typeof own === 'function' ? own(params) : own
  return { resultType: 'complete', content: [{ type: 'text', text: 'done' }], _meta, ...more }
}
