import { eventually } from './processes.ts'

export type Message = Record<string, any>

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

interface Sent {
  readonly verb?: 'POST' | 'GET'
  readonly body?: Message
  readonly headers?: Readonly<Record<string, string>>
}

/** One HTTP request whose answer is read message by message, as it comes. */
export class CallStream {
  /** Every message that came, in order. */
  readonly received: Message[] = []
  /** Resolves when nothing more comes. */
  readonly over: Promise<void>
  status: number | undefined
  #isOver = false
  readonly #abort = new AbortController()

  constructor(url: string, { verb = 'POST', body, headers = {} }: Sent) {
    const sent = { method: verb, headers: { ...HEADERS, ...headers }, ...(body && { body: JSON.stringify(body) }) }
    this.over = this.#read(url, { ...sent, signal: this.#abort.signal }).finally(() => {
      this.#isOver = true
    })
  }

  /** The first message of a kind, whether it came already or not. */
  next(wants: (message: Message) => boolean): Promise<Message> {
    const findMessage = (): Message | undefined => this.received.find(wants)
    const isThere = (message: Message | undefined): boolean => message !== undefined || this.#isOver
    return eventually(findMessage, isThere).then((message) => message ?? Promise.reject(this.#missed()))
  }

  /** Hangs up, whatever is still to come. */
  async close(): Promise<void> {
    this.#abort.abort()
    await this.over
  }

  async #read(url: string, sent: RequestInit): Promise<void> {
    try {
      const response = await fetch(url, sent)
      this.status = response.status
      const isStream = (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
      if (!isStream) return this.#take(await response.text())
      let rest = ''
      for await (const chunk of response.body ?? []) {
        const lines = (rest + Buffer.from(chunk).toString()).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) if (line.startsWith('data: ')) this.#take(line.slice(6))
      }
    } catch (error) {
      if (!this.#abort.signal.aborted) throw error
    }
  }

  #take(text: string): void {
    if (text !== '') this.received.push(JSON.parse(text))
  }

  #missed(): Error {
    return new Error(`the stream ended (${this.status}) after ${JSON.stringify(this.received).slice(0, 2_000)}`)
  }
}
