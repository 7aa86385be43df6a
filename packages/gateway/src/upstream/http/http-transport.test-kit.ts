import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { JsonObject, SallyportError } from '@sallyport/core'
import { onTestFinished } from 'vitest'
import type { HttpServerConfig } from '../../config/settings.ts'
import { GATEWAY_PERMIT } from '../permit.ts'
import type { EncodedRequest, Frame, Transport, TransportEvents } from '../transport.ts'

const SCRIPT = fileURLToPath(new URL('../../../../../tests/fixtures/http-server.mjs', import.meta.url))

export interface SeenRequest {
  readonly verb: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly message: { readonly id?: number; readonly method?: string } | undefined
}

export interface ServerLog {
  readonly requests: readonly SeenRequest[]
  readonly streams: number
  readonly hanging: number
  readonly left: number
  readonly deleted: number
}

export class ScriptedServer {
  readonly origin: string
  readonly #stop: () => Promise<void>

  constructor(port: string, stop: () => Promise<void>) {
    this.origin = `http://127.0.0.1:${port}`
    this.#stop = stop
  }

  async readLog(): Promise<ServerLog> {
    return (await (await fetch(`${this.origin}/seen`)).json()) as ServerLog
  }

  /** Polls until the condition is true. */
  async until(enough: (seen: ServerLog) => boolean): Promise<ServerLog> {
    for (;;) {
      const seen = await this.readLog()
      if (enough(seen)) return seen
    }
  }

  async command(path: '/drop-streams' | '/forget'): Promise<void> {
    await (await fetch(this.origin + path, { method: 'POST' })).text()
  }

  stop(): Promise<void> {
    return this.#stop()
  }
}

/** Runs the scripted server until the test is over. */
export async function startServer(...args: readonly string[]): Promise<ScriptedServer> {
  const child = spawn(process.execPath, [SCRIPT, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }
  onTestFinished(stop)
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string]
  return new ScriptedServer(port, stop)
}

export function httpConfig(url: string, changes: Partial<HttpServerConfig> = {}): HttpServerConfig {
  return {
    kind: 'http',
    id: 'scripted',
    title: undefined,
    enabled: true,
    era: 'auto',
    trusted: false,
    timeouts: { startup: 30_000, call: 60_000, callMaximum: 600_000, idle: undefined },
    includeTools: undefined,
    excludeTools: [],
    isolated: false,
    isolatedTools: [],
    result: undefined,
    maxMessageBytes: 64_000_000,
    fromVariables: [],
    credentials: [],
    location: { file: 'config.yaml', line: 1 },
    url,
    headers: {},
    ...changes,
  }
}

export interface Failure {
  readonly id: number
  readonly error: SallyportError
}

/** Records the events of a transport, and lets a test wait for them. */
export class Recorder implements TransportEvents {
  readonly frames: { readonly message: Message; readonly during: number | undefined }[] = []
  readonly failures: Failure[] = []
  readonly warnings: string[] = []
  readonly closes: string[] = []
  /** The requests that met an expired session; `undefined` if it was noticed without one. */
  readonly expired: (number | undefined)[] = []
  readonly #waiting = new Set<() => void>()

  onFrame(frame: Frame, during: number | undefined): void {
    this.frames.push({ message: JSON.parse(Buffer.concat(frame.parts).toString()) as Message, during })
    this.#wake()
  }

  onFailure(id: number, error: SallyportError): void {
    this.failures.push({ id, error })
    this.#wake()
  }

  onSessionExpired(id?: number): void {
    this.expired.push(id)
    this.#wake()
  }

  onWarning(text: string): void {
    this.warnings.push(text)
    this.#wake()
  }

  onClose(reason: string): void {
    this.closes.push(reason)
    this.#wake()
  }

  async until<T>(look: () => T | undefined): Promise<T> {
    for (;;) {
      const found = look()
      if (found !== undefined && found !== false) return found
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }

  answer(id: number): Promise<Message> {
    return this.until(() => this.frames.find(({ message }) => message.id === id && !message.method)?.message)
  }

  failure(id: number): Promise<SallyportError> {
    return this.until(() => this.failures.find((failure) => failure.id === id)?.error)
  }

  #wake(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const resolve of waiting) resolve()
  }
}

export interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: { readonly content?: readonly { readonly text: string }[] }
  readonly error?: { readonly code: number; readonly message: string }
}

export const textOf = (message: Message): string | undefined => message.result?.content?.[0]?.text

let lastId = 1_000

/** A `tools/call` in the form of the era. */
export function toolCall(
  era: 'legacy' | 'modern',
  name: string,
  args: Readonly<Record<string, unknown>> = {},
): EncodedRequest {
  const params = { name, arguments: args, _meta: { ...(era === 'modern' && MODERN_META), progressToken: 7 } }
  return createRequest('tools/call', params, name)
}

export function createRequest(
  method: string,
  params: Readonly<Record<string, unknown>>,
  name?: string,
): EncodedRequest {
  const id = ++lastId
  const text = JSON.stringify({ jsonrpc: '2.0', id, method, params })
  return { id, call: { method, params: params as JsonObject, name, permit: GATEWAY_PERMIT }, text }
}

export const MODERN_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Opens a transport that is closed when the test is over. */
export async function openTransport<T extends Transport>(transport: T): Promise<{ transport: T; events: Recorder }> {
  const events = new Recorder()
  onTestFinished(() => transport.close())
  await transport.open(events)
  return { transport, events }
}

/** The legacy handshake, as the link above a transport does it. */
export async function initialize(transport: Transport, events: Recorder): Promise<Message> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '0' } }
  const request = createRequest('initialize', params)
  transport.request(request)
  const answer = await events.answer(request.id)
  transport.setProtocolVersion('2025-11-25')
  transport.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  return answer
}
