import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { afterEach } from 'vitest'

/** A response of the server, and the client that reads it. */
export interface Pair {
  readonly response: ServerResponse
  readonly reader: Reader
}

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** Returns a function that opens a new connection and begins an answer on it. */
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

/** A client that starts to read only when a test asks for events. */
export class Reader {
  readonly #request
  readonly #answer: Promise<IncomingMessage>
  #text = ''
  #isReading = false
  #wake = (): void => {}

  constructor(port: number) {
    this.#request = request({ port, host: '127.0.0.1', agent: false }).on('error', () => {})
    this.#request.end()
    // Stays pending if the connection closes before the answer begins; nobody waits for it then.
    this.#answer = new Promise((resolve) => this.#request.once('response', resolve))
  }

  async status(): Promise<number | undefined> {
    return (await this.#answer).statusCode
  }

  get text(): string {
    return this.#text
  }

  /** All events received so far, as pairs of id and data. */
  get events(): readonly (readonly [string, string])[] {
    return [...this.#text.matchAll(/id: (\S+)\n(?:retry: \d+\n)?(?:event: message\n)?data:[ ]?(.*)\n\n/g)].map(
      ([, id = '', data = '']) => [id, data] as const,
    )
  }

  async sees(text: string): Promise<void> {
    await this.#read()
    while (!this.#text.includes(text)) await new Promise<void>((resolve) => (this.#wake = resolve))
  }

  /** The whole text, once the stream has ended. */
  async ends(): Promise<string> {
    const answer = await this.#read()
    if (!answer.readableEnded) await once(answer, 'end')
    return this.#text
  }

  cut(): void {
    this.#request.destroy()
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
