import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type EgressPolicy, type HostAndPort, parseHostAndPort } from '@sallyport/core'
import { EgressControl, type EgressDecision, type EgressStats, isRefusal } from './egress-control.ts'
import { DEFAULT_EGRESS_LIMITS, type EgressLimits } from './egress-limits.ts'
import { type Exchange, forwardRequest } from './forward-request.ts'
import { type ResolveName, resolveBySystem } from './name-lookup.ts'
import type { OutgoingConnection } from './outgoing-connection.ts'
import { refuseRequest, refuseTunnel } from './refusal-response.ts'
import { parseAbsoluteForm, parseTunnelled } from './request-target.ts'
import { carryTunnel, endTogether } from './tunnel.ts'

export interface EgressOptions {
  /** In a folder that only the gateway and its sandbox can enter: who can open the socket can use it. */
  readonly socketPath: string
  readonly policy: EgressPolicy
  /** Called for each connection and each request, before its first byte is passed on. If it throws, none is. */
  readonly onDecision: (decision: EgressDecision) => void
  readonly resolve?: ResolveName
  readonly clock?: () => number
  readonly limits?: Partial<EgressLimits>
}

/** The only way out of a sandbox: an HTTP proxy on a unix socket. */
export interface EgressProxy {
  readonly stats: EgressStats
  /**
   * Narrows what may leave. Before it returns, open connections that the new policy does not allow are closed, and
   * nothing more leaves through them. Throws for a wider mode.
   */
  setPolicy(policy: EgressPolicy): { readonly cut: number }
  close(): Promise<void>
}

export async function openEgressProxy(options: EgressOptions): Promise<EgressProxy> {
  const limits = { ...DEFAULT_EGRESS_LIMITS, ...options.limits }
  const { resolve = resolveBySystem, clock = Date.now } = options
  const proxy = new ListeningProxy(new EgressControl({ ...options, limits, resolve, clock }))
  await proxy.listen(options.socketPath)
  return proxy
}

/** Tunnels to this port carry HTTP, whose requests are judged one by one. */
const HTTP_PORT = 80
const BAD_CONNECT = { status: 400, reason: 'expected CONNECT host:port' } as const
const BAD_TARGET = {
  status: 400,
  reason: 'expected http://host:port/path, or CONNECT host:port for anything but HTTP',
} as const
const BAD_UPGRADE = { status: 400, reason: 'a request that changes the protocol has no body' } as const

class ListeningProxy implements EgressProxy {
  readonly #control: EgressControl
  readonly #server: Server
  readonly #clients = new Set<Socket>()
  /** How many requests of a client wait for their response. */
  readonly #unanswered = new WeakMap<Socket, number>()
  /** Clients whose tunnel carries HTTP, and where it leads. */
  readonly #tunnels = new WeakMap<Socket, HostAndPort>()

  constructor(control: EgressControl) {
    this.#control = control
    const { headBytes, headMs, idleMs, connections } = control.limits
    this.#server = createServer({
      maxHeaderSize: headBytes,
      headersTimeout: headMs,
      requestTimeout: 0,
      keepAliveTimeout: headMs,
      connectionsCheckingInterval: headMs / 2,
    })
    this.#server.maxConnections = 2 * connections
    // Later than outer connections, whose end is answered. It also ends clients that do not read what they asked for.
    this.#server.timeout = idleMs + headMs
    this.#server.on('connection', (client: Socket) => this.#track(client))
    this.#server.on('request', (request, response) => {
      this.#countUnanswered(request.socket, response)
      this.#serve({ request, response })
    })
    this.#server.on('upgrade', (request, client: Socket, head) => {
      if (this.#isAnswering(client)) client.destroy()
      else this.#upgrade(request, client, head)
    })
    this.#server.on('connect', (request, client: Socket, head) => {
      if (this.#isAnswering(client)) client.destroy()
      else this.#connect(request, client, head).catch(() => client.destroy())
    })
  }

  get stats(): EgressStats {
    return this.#control.stats
  }

  setPolicy(policy: EgressPolicy): { readonly cut: number } {
    return this.#control.setPolicy(policy)
  }

  async listen(socketPath: string): Promise<void> {
    this.#server.listen(socketPath)
    await once(this.#server, 'listening')
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#control.closeAll()
    for (const client of this.#clients) client.destroy()
    await closed
  }

  #track(client: Socket): void {
    // A tunnel that carries HTTP is the same socket a second time.
    if (this.#clients.has(client)) return
    this.#clients.add(client)
    client.once('close', () => this.#clients.delete(client))
    client.on('error', () => client.destroy())
  }

  #countUnanswered(client: Socket, response: ServerResponse): void {
    const count = (change: number): void => {
      this.#unanswered.set(client, (this.#unanswered.get(client) ?? 0) + change)
    }
    count(1)
    response.once('close', () => count(-1))
  }

  /** Whether a client did not wait for a response before it asked for the whole connection: no real client does that. */
  #isAnswering(client: Socket): boolean {
    return (this.#unanswered.get(client) ?? 0) > 0
  }

  #serve(exchange: Exchange): void {
    const { request, response } = exchange
    const tunnel = this.#tunnels.get(request.socket)
    const url = request.url ?? ''
    const parsed = tunnel === undefined ? parseAbsoluteForm(url) : parseTunnelled(url, tunnel)
    if (parsed === undefined) return refuseRequest(response, BAD_TARGET)
    forwardRequest(exchange, parsed, this.#control).catch(() => request.socket.destroy())
  }

  #upgrade(request: IncomingMessage, client: Socket, head: Buffer): void {
    // node:http leaves such a socket to us.
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(client)
    client.on('drain', () => response.emit('drain'))
    response.once('finish', () => client.destroySoon())
    if (hasBody(request)) return refuseRequest(response, BAD_UPGRADE)
    const isWebSocket = request.headers.upgrade?.toLowerCase() === 'websocket'
    this.#serve({ request, response, ...(isWebSocket ? { webSocket: { client, head } } : {}) })
  }

  async #connect(request: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
    const target = parseHostAndPort(request.url ?? '')
    if (target === undefined || hasBody(request) || this.#tunnels.has(client)) return refuseTunnel(client, BAD_CONNECT)
    const connection = this.#control.admit(target)
    if (isRefusal(connection)) return refuseTunnel(client, connection)
    const leave = (): void => connection.close()
    client.once('close', leave)
    if (target.port === HTTP_PORT) return this.#serveTunnel(client, head, connection)
    const upstream = await this.#control.connect(connection)
    if (isRefusal(upstream)) return refuseTunnel(client, upstream)
    client.off('close', leave)
    endTogether(client, connection)
    establish(client, head)
    carryTunnel({ client, upstream, connection, control: this.#control })
  }

  /** The client sends HTTP through its tunnel, as some do always: the same rules apply as without one. */
  #serveTunnel(client: Socket, head: Buffer, connection: OutgoingConnection): void {
    connection.onClose(() => client.destroy())
    this.#tunnels.set(client, connection.target)
    establish(client, head)
    this.#server.emit('connection', client)
  }
}

function establish(client: Socket, head: Buffer): void {
  if (head.length > 0) client.unshift(head)
  client.write('HTTP/1.1 200 Connection established\r\n\r\n')
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
