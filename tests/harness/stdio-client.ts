import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { MAIN, type Place } from './run-gateway.ts'

type Message = Record<string, any>

interface Hearer {
  readonly wants: (message: Message) => boolean
  readonly resolve: (message: Message) => void
  readonly reject: (error: Error) => void
}

/** An agent's end of a server that speaks MCP on stdin and stdout. */
export class StdioClient {
  readonly child: ChildProcess
  /** Every message that came, in order. */
  readonly received: Message[] = []
  readonly #hearers = new Set<Hearer>()
  #words = ''
  #nextId = 1

  constructor(child: ChildProcess) {
    this.child = child
    child.stdin?.on('error', () => {})
    child.stderr?.on('data', (text) => {
      this.#words += String(text)
    })
    if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => this.#hear(JSON.parse(line)))
    child.once('close', () => this.#gone())
  }

  get stderr(): string {
    return this.#words
  }

  request(method: string, params: object = {}, id = this.freshId()): Promise<Message> {
    const answer = this.next((message) => message.id === id)
    this.#say({ jsonrpc: '2.0', id, method, params })
    return answer
  }

  /** For callers that need the id of a request before it is answered. */
  freshId(): number {
    return this.#nextId++
  }

  notify(method: string, params: object = {}): void {
    this.#say({ jsonrpc: '2.0', method, params })
  }

  /** Answers a request of the other side: with a result or an error. */
  answer(id: string | number, outcome: object): void {
    this.#say({ jsonrpc: '2.0', id, ...outcome })
  }

  async initialize(capabilities: object = {}): Promise<Message> {
    const clientInfo = { name: 'test', version: '1' }
    const answer = await this.request('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo })
    this.notify('notifications/initialized')
    return answer
  }

  async toolNames(): Promise<readonly string[]> {
    const { result } = await this.request('tools/list')
    return result.tools.map(({ name }: { name: string }) => name)
  }

  async call(name: string, args: object = {}): Promise<Message> {
    const message = await this.request('tools/call', { name, arguments: args })
    return message.result ?? message
  }

  /** The next message of a kind; rejects when the process ends before. */
  next(wants: (message: Message) => boolean): Promise<Message> {
    const received = new Promise<Message>((resolve, reject) => this.#hearers.add({ wants, resolve, reject }))
    // The caller may be gone already when the process ends.
    received.catch(() => {})
    return received
  }

  /** Closes its input, and waits for the process to end. */
  async leave(): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode
    const gone = once(this.child, 'close')
    this.child.stdin?.end()
    const [code] = await gone
    return code
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = once(this.child, 'close')
    this.child.kill('SIGKILL')
    await gone
  }

  #say(message: Message): void {
    this.child.stdin?.write(`${JSON.stringify(message)}\n`)
  }

  #hear(message: Message): void {
    this.received.push(message)
    for (const hearer of this.#hearers) {
      if (!hearer.wants(message)) continue
      this.#hearers.delete(hearer)
      hearer.resolve(message)
    }
  }

  #gone(): void {
    for (const { reject } of this.#hearers)
      reject(new Error(`the server ended (${this.child.exitCode ?? this.child.signalCode}):\n${this.#words}`))
    this.#hearers.clear()
  }
}

/** Starts `serve --stdio` as an agent would. */
export interface WindowOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** `--agent` */
  readonly agent?: string
}

export function openWindow(
  { home, state }: Pick<Place, 'home' | 'state'>,
  { cwd, env, agent }: WindowOptions = {},
): StdioClient {
  const named = agent === undefined ? [] : ['--agent', agent]
  const args = [MAIN, 'serve', '--stdio', ...named, '--home', home, '--state', state]
  const options = { stdio: 'pipe', env: { ...process.env, ...env }, ...(cwd !== undefined && { cwd }) } as const
  return new StdioClient(spawn(process.execPath, args, options))
}

export function isToolChange(message: Message): boolean {
  return message.method === 'notifications/tools/list_changed'
}
