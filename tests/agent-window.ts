import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { MAIN, type Place } from './run-gateway.ts'

type Message = Record<string, any>

export interface WindowOptions {
  readonly place: Pick<Place, 'home' | 'state'>
  readonly env?: Readonly<Record<string, string>>
}

let opened = 0

/** An agent's window: `serve --stdio` in a process of its own. It keeps every line, so that a second answer is seen too. */
export class AgentWindow {
  readonly child: ChildProcess
  /** Everything that came, in order. */
  readonly messages: Message[] = []
  readonly #name = `w${++opened}`
  readonly #asked = new Map<string, (answer: Message) => void>()
  readonly #listeners = new Set<(message: Message) => void>()
  #words = ''
  #last = 0

  private constructor({ place, env = {} }: WindowOptions) {
    const args = [MAIN, 'serve', '--stdio', '--home', place.home, '--state', place.state]
    this.child = spawn(process.execPath, args, { stdio: 'pipe', env: { ...process.env, ...env } })
    this.child.stdin?.on('error', () => {})
    this.child.stderr?.on('data', (text) => {
      this.#words += String(text)
    })
    createInterface({ input: this.child.stdout as NodeJS.ReadableStream }).on('line', (line) => this.#take(line))
  }

  /** Opens it and shakes hands as agents of the legacy era do. */
  static async open(options: WindowOptions): Promise<AgentWindow> {
    const window = new AgentWindow(options)
    const clientInfo = { name: 'window', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
    const answer = await Promise.race([window.request('initialize', params).answer, once(window.child, 'exit')])
    if (Array.isArray(answer)) throw new Error(`the window ended: ${window.#words}`)
    window.send({ method: 'notifications/initialized' })
    return window
  }

  /** Asks under an id of its own. */
  request(method: string, params: object = {}): { readonly id: string; readonly answer: Promise<Message> } {
    const id = `${this.#name}-${++this.#last}`
    const answer = new Promise<Message>((resolve) => this.#asked.set(id, resolve))
    this.send({ id, method, params })
    return { id, answer }
  }

  /** The result of a tool, or the whole message when it is a protocol error. */
  async call(name: string, args: object = {}): Promise<Message> {
    const message = await this.request('tools/call', { name, arguments: args }).answer
    return message.result ?? message
  }

  async toolNames(): Promise<string[]> {
    const { result } = await this.request('tools/list').answer
    return result.tools.map(({ name }: { name: string }) => name)
  }

  send(message: object): void {
    this.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  /** The next notification of this kind from now on. */
  next(method: string): Promise<Message> {
    return new Promise((resolve) => {
      const listener = (message: Message): void => {
        if (message.method !== method) return
        this.#listeners.delete(listener)
        resolve(message)
      }
      this.#listeners.add(listener)
    })
  }

  notices(method: string): readonly Message[] {
    return this.messages.filter((message) => message.method === method)
  }

  /** How often each id was answered. */
  answerCounts(): ReadonlyMap<unknown, number> {
    const counts = new Map<unknown, number>()
    for (const { id, method } of this.messages) if (method === undefined) counts.set(id, (counts.get(id) ?? 0) + 1)
    return counts
  }

  /** Leaves as an agent does: it says no more. */
  async close(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = once(this.child, 'exit')
    this.child.stdin?.end()
    await gone
  }

  #take(line: string): void {
    const message = JSON.parse(line) as Message
    this.messages.push(message)
    if (message.method === undefined) this.#asked.get(message.id)?.(message)
    for (const listener of [...this.#listeners]) listener(message)
  }
}
