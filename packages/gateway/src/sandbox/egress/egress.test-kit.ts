import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EgressPolicy, type HostRule, type NetworkMode, parseHostRule } from '@sallyport/core'
import { type EgressDecision, type EgressOptions, type EgressProxy, openEgressProxy } from './egress.ts'

export const rules = (...written: readonly string[]): readonly HostRule[] =>
  written.map((each) => {
    const rule = parseHostRule(each)
    if (rule === undefined) throw new Error(`${each} is not a valid rule.`)
    return rule
  })

export const policy = (mode: NetworkMode, ...allow: readonly string[]): EgressPolicy => ({
  mode,
  allow: rules(...allow),
})

export const FULL = policy('FULL')
export const NONE = policy('NONE')

export interface TestProxy {
  readonly proxy: EgressProxy
  readonly socketPath: string
  readonly decisions: EgressDecision[]
  /** The names that were looked up, in order. */
  readonly lookups: string[]
}

const closers: (() => Promise<void> | void)[] = []

/** Ends everything that a test has opened; for `afterEach`. */
export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close()
}

export const onEnd = (close: () => Promise<void> | void): void => {
  closers.push(close)
}

type Names = Readonly<Record<string, readonly string[]>>

/** A proxy with a DNS of its own. */
export async function openTestProxy(
  options: Partial<EgressOptions> & { readonly policy: EgressPolicy; readonly names?: Names },
): Promise<TestProxy> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-egress-'))
  onEnd(() => rmSync(folder, { recursive: true }))
  const socketPath = join(folder, 'egress.sock')
  const decisions: EgressDecision[] = []
  const lookups: string[] = []
  const names = new Map(Object.entries(options.names ?? {}))
  const resolve = async (name: string): Promise<readonly string[]> => {
    lookups.push(name)
    const found = names.get(name)
    if (found === undefined) throw new Error('ENOTFOUND')
    return found
  }
  const proxy = await openEgressProxy({ socketPath, resolve, onDecision: (each) => decisions.push(each), ...options })
  onEnd(() => proxy.close())
  return { proxy, socketPath, decisions, lookups }
}

/** A server outside that records what arrives. */
export interface Origin {
  readonly port: number
  readonly sockets: readonly Socket[]
  /** All bytes that arrived, over all connections. */
  readonly received: () => string
}

export async function openOrigin(serve: (socket: Socket) => void = (socket) => socket.resume()): Promise<Origin> {
  const sockets: Socket[] = []
  const chunks: Buffer[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    serve(socket)
  })
  return { port: await listen(server), sockets, received: () => Buffer.concat(chunks).toString('latin1') }
}

/** Listens on 127.0.0.1 until the test ends. */
export async function listen(server: Server): Promise<number> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onEnd(async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of open) socket.destroy()
    await closed
  })
  return (server.address() as { port: number }).port
}

/** A TCP port that leads to the socket, as the bridge in a sandbox does. */
export async function openBridge(socketPath: string): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ path: socketPath, allowHalfOpen: true })
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('error', () => to.destroy()).pipe(to)
      from.once('close', () => to.destroySoon())
    }
  })
  return listen(server)
}

/** A raw client of the proxy, which collects what it gets. */
export class Client {
  readonly socket: Socket
  readonly #chunks: Buffer[] = []
  readonly closed: Promise<void>

  constructor(socketPath: string, { allowHalfOpen = false } = {}) {
    this.socket = connect({ path: socketPath, allowHalfOpen })
    this.socket.on('error', () => {})
    this.socket.on('data', (chunk: Buffer) => this.#chunks.push(chunk))
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()))
    onEnd(() => void this.socket.destroy())
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('latin1')
  }

  send(text: string | Buffer): this {
    this.socket.write(text)
    return this
  }

  /** Waits until it has received this. */
  async receive(expected: string): Promise<this> {
    while (!this.text.includes(expected)) {
      if (this.socket.readableEnded || this.socket.destroyed)
        throw new Error(`The proxy closed the connection after: ${this.text}`)
      await Promise.race([once(this.socket, 'data'), once(this.socket, 'end'), this.closed])
    }
    return this
  }
}

/** Asks for a tunnel, and waits for it. */
export async function openTunnel(socketPath: string, target: string): Promise<Client> {
  const client = new Client(socketPath)
  await client.send(connectRequest(target)).receive('200 Connection established\r\n\r\n')
  return client
}

export const connectRequest = (target: string): string => `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`

/** Sends bytes, and returns all that came back until the proxy closed the connection. */
export async function askOnce(socketPath: string, bytes: string): Promise<string> {
  const client = new Client(socketPath).send(bytes)
  await client.closed
  return client.text
}
