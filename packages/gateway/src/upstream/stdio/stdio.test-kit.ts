import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { JsonObject, SallyportError } from '@sallyport/core'
import type { StdioServerConfig } from '../../config/settings.ts'
import { GATEWAY_PERMIT, type Permit } from '../permit.ts'
import { createMark } from '../processes/process-mark.ts'
import type { Watchdog } from '../processes/watchdog.ts'
import { StderrTail } from '../stderr-tail.ts'
import type { TransportEvents } from '../transport.ts'
import { StdioTransport, type StdioTransportOptions } from './stdio-transport.ts'

export const HOSTILE_SERVER = fileURLToPath(
  new URL('../../../../../tests/fixtures/hostile-server.mjs', import.meta.url),
)

/** Every test has its own marks, so that none can count or kill another's processes. */
export function freshMark(...parts: readonly string[]): string {
  return createMark('test', randomUUID(), ...parts)
}

/** Counts independently, so that a sweep that finds too little cannot pass the test. */
export function countMarked(mark: string): number {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && environmentOf(name).includes(mark)).length
}

function environmentOf(name: string): string {
  try {
    return readFileSync(`/proc/${name}/environ`, 'utf8')
  } catch {
    return ''
  }
}

export function stdioConfig(changes: Partial<StdioServerConfig> = {}): StdioServerConfig {
  return {
    kind: 'stdio',
    id: 'hostile',
    title: undefined,
    enabled: true,
    trusted: false,
    era: 'legacy',
    timeouts: { startup: 30_000, call: 60_000, callMaximum: 60_000, idle: undefined },
    includeTools: undefined,
    excludeTools: [],
    isolated: false,
    isolatedTools: [],
    result: undefined,
    maxMessageBytes: 64_000_000,
    fromVariables: [],
    credentials: [],
    location: { file: 'config.yaml', line: 1 },
    command: process.execPath,
    args: [HOSTILE_SERVER],
    env: {},
    cwd: undefined,
    per: 'gateway',
    ...changes,
  }
}

interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: unknown
  readonly result?: { readonly content?: readonly { readonly text: string }[] }
}

/** Records the events of a transport, and lets a test wait for them. */
export class Recorder implements TransportEvents {
  readonly messages: Message[] = []
  readonly failures: { readonly id: number; readonly error: SallyportError }[] = []
  readonly warnings: string[] = []
  readonly reasons: string[] = []
  readonly #changes = new EventEmitter()

  onFrame({ parts }: Parameters<TransportEvents['onFrame']>[0]): void {
    this.messages.push(JSON.parse(Buffer.concat(parts).toString()) as Message)
    this.#changes.emit('change')
  }

  onFailure(id: number, error: SallyportError): void {
    this.failures.push({ id, error })
    this.#changes.emit('change')
  }

  onWarning(text: string): void {
    this.warnings.push(text)
    this.#changes.emit('change')
  }

  onClose(reason: string): void {
    this.reasons.push(reason)
    this.#changes.emit('change')
  }

  async until<Value>(find: () => Value | undefined): Promise<Value> {
    for (;;) {
      const value = find()
      if (value !== undefined) return value
      await once(this.#changes, 'change')
    }
  }

  answer(id: number): Promise<Message> {
    return this.until(() => this.messages.find((message) => message.id === id && message.method === undefined))
  }

  closed(): Promise<string> {
    return this.until(() => this.reasons[0])
  }

  failure(id: number): Promise<SallyportError> {
    return this.until(() => this.failures.find((failure) => failure.id === id)?.error)
  }
}

type ConnectionOptions = Partial<StdioTransportOptions> & { readonly watchdog: Watchdog; readonly mark: string }

/** A transport to the hostile server, with short ways to use it. */
export class TestConnection {
  readonly transport: StdioTransport
  readonly received = new Recorder()
  readonly stderr = new StderrTail()
  #lastId = 0

  constructor(choices: ConnectionOptions) {
    this.transport = new StdioTransport({
      config: stdioConfig(),
      environment: process.env,
      stderr: this.stderr,
      ...choices,
    })
  }

  ask(method: string, params: unknown = {}, permit: Permit = GATEWAY_PERMIT): number {
    const id = ++this.#lastId
    const text = JSON.stringify({ jsonrpc: '2.0', id, method, params })
    this.transport.request({ id, call: { method, params: params as JsonObject, permit }, text })
    return id
  }

  call(name: string, args: unknown = {}): number {
    return this.ask('tools/call', { name, arguments: args })
  }

  /** The text in a tool's answer. */
  async callForText(name: string, args: unknown = {}): Promise<string> {
    const { result } = await this.received.answer(this.call(name, args))
    return result?.content?.[0]?.text ?? ''
  }
}

export function hostileConfig(...switches: readonly string[]): StdioServerConfig {
  return stdioConfig({ args: [HOSTILE_SERVER, ...switches] })
}
