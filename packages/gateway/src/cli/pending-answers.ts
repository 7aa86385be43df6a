import { once } from 'node:events'
import type { Duplex, Writable } from 'node:stream'
import { isJsonObject, JsonScanner } from '@sallyport/core'
import { LineReader } from '../serve/line-reader.ts'

type Id = string | number

const MAX_LINE = 64 * 1_024 * 1_024

/** Which requests of an agent are still to be answered, and how it opened the conversation. */
export class PendingAnswers {
  /** The lines that opened a legacy conversation: they have to be said again to another gateway. */
  readonly handshake: Buffer[] = []
  readonly #open = new Set<Id>()
  readonly #sent = new LineReader({ limit: MAX_LINE, onLine: (line) => this.#noteSent(line), onOversized: () => {} })
  #scanner = new JsonScanner()
  /** The rest of an answer that was cut off must not be continued by the next gateway's words. */
  #midLine = false

  sent(chunk: Buffer): void {
    this.#sent.feed(chunk)
  }

  /** Looks at what passes without holding it: an answer may be large. */
  received(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, from)) {
      this.#scanner.feed(chunk.subarray(from, at))
      from = at + 1
      this.#noteReceived()
    }
    this.#midLine = from < chunk.length
    if (this.#midLine) this.#scanner.feed(chunk.subarray(from))
  }

  /** Lines that answer everything that will get no other answer any more. */
  giveUp(): readonly string[] {
    const error = {
      code: -32000,
      message: '[GATEWAY_UNREACHABLE] The gateway went away before it answered. Try again.',
    }
    const lines = [...this.#open].map((id) => `${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`)
    const cutOff = this.#midLine ? ['\n'] : []
    this.#open.clear()
    this.#scanner = new JsonScanner()
    this.#midLine = false
    return [...cutOff, ...lines]
  }

  /** Opens the conversation anew with another gateway; what it offers may differ from before. */
  async greetAgain(socket: Duplex, output: Writable): Promise<void> {
    let seen = ''
    socket.write(Buffer.concat(this.handshake.map((line) => Buffer.concat([line, Buffer.from('\n')]))))
    while (!seen.includes('\n')) {
      const [chunk] = (await once(socket, 'data')) as [Buffer]
      seen += chunk.toString('utf8')
    }
    socket.pause()
    for (const what of ['tools', 'prompts', 'resources']) {
      output.write(`${JSON.stringify({ jsonrpc: '2.0', method: `notifications/${what}/list_changed` })}\n`)
    }
  }

  #noteSent(line: Buffer): void {
    const message = parsed(line)
    if (message.method === 'initialize') this.handshake.length = 0
    if (message.method === 'initialize' || message.method === 'notifications/initialized')
      this.handshake.push(Buffer.from(line))
    if (message.method !== undefined && (typeof message.id === 'string' || typeof message.id === 'number'))
      this.#open.add(message.id)
  }

  #noteReceived(): void {
    const envelope = this.#scanner.end()
    this.#scanner = new JsonScanner()
    const id = envelope?.hasMethod ? undefined : (envelope?.numericId ?? envelope?.textId)
    if (id !== undefined) this.#open.delete(id)
  }
}

function parsed(line: Buffer): Readonly<Record<string, unknown>> {
  try {
    const message: unknown = JSON.parse(line.toString('utf8'))
    return isJsonObject(message) ? message : {}
  } catch {
    return {}
  }
}
