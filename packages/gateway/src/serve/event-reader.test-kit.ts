import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { afterEach } from 'vitest'

/** A response of ours, and the client that reads it. */
export interface Pair {
  readonly response: ServerResponse
  readonly reader: Reader
}

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** Answers that are begun when asked for, each on a connection of its own. */
export async function openPairs(): Promise<() => Promise<Pair>> {
  const waiting: ((response: ServerResponse) => void)[] = []
  const server = createServer((_request, response) => waiting.shift()?.(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  const { port } = server.address() as { port: number }
  return async () => {
    const arrived = new Promise<ServerResponse>((resolve) => waiting.push(resolve))
    const reader = new Reader(port)
    return { response: await arrived, reader }
  }
}

/** Reads events, or does not: it begins when it is first asked for them. */
export class Reader {
  readonly #asked
  readonly #answer: Promise<IncomingMessage>
  #text = ''
  #isReading = false
  #wake = (): void => {}

  constructor(port: number) {
    this.#asked = request({ port, host: '127.0.0.1', agent: false }).on('error', () => {})
    this.#asked.end()
    // A connection that closes before its answer begins has none: nobody waits for it then.
    this.#answer = new Promise((resolve) => this.#asked.once('response', resolve))
  }

  async status(): Promise<number | undefined> {
    return (await this.#answer).statusCode
  }

  get text(): string {
    return this.#text
  }

  /** Everything that has come, as pairs of an id and what it says. */
  get events(): readonly (readonly [string, string])[] {
    return [...this.#text.matchAll(/id: (\S+)\n(?:retry: \d+\n)?(?:event: message\n)?data:[ ]?(.*)\n\n/g)].map(
      ([, id = '', data = '']) => [id, data] as const,
    )
  }

  async sees(text: string): Promise<void> {
    await this.#read()
    while (!this.#text.includes(text)) await new Promise<void>((resolve) => (this.#wake = resolve))
  }

  /** The whole of it, once it has ended. */
  async ends(): Promise<string> {
    const answer = await this.#read()
    if (!answer.readableEnded) await once(answer, 'end')
    return this.#text
  }

  cut(): void {
    this.#asked.destroy()
  }

  async #read(): Promise<IncomingMessage> {
    const answer = await this.#answer
    if (this.#isReading) return answer
    this.#isReading = true
    answer.on('error', () => {})
    answer.on('data', (chunk) => {
      this.#text += String(chunk)
      this.#wake()
    })
    return answer
  }
}
