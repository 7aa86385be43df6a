import type { Duplex, Writable } from 'node:stream'
import { isJsonObject, JsonScanner, MAY_BE_DONE } from '@sallyport/core'
import { LineReader } from '@sallyport/kit/line-reader'

type Id = string | number

const MAX_LINE = 64 * 1_024 * 1_024
/** The gateway answers to no other ids than these; of others that it does answer to, the scanner could not tell us. */
const MAX_ID_LENGTH = 256
const PLAIN = /^[\x20-\x7e]*$/

/** Which requests of an agent are still to be answered, and how it opened the conversation. */
export class PendingAnswers {
  /** The lines that opened a legacy conversation: they have to be said again to another gateway. */
  readonly handshake: Buffer[] = []
  /** With the method of each. */
  readonly #open = new Map<Id, string>()
  /** Nobody waits for these to be answered; but who listened to a gateway that is gone has to listen anew. */
  readonly #listening = new Set<Id>()
  /** The id of the agent's `initialize`. */
  #greeting: Id | undefined
  #onAnswered: (() => void) | undefined
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

  /** What was sent of a line that is not whole yet: another gateway has to hear it from its beginning. */
  get unfinished(): Buffer {
    return this.#sent.unfinished
  }

  /** Calls back as soon as the agent waits for nothing. */
  whenAnswered(done: () => void): void {
    this.#onAnswered = done
    if (this.#open.size === 0) done()
  }

  /** Lines that answer everything that will get no other answer any more. The next gateway answers the greeting. */
  giveUp(): readonly string[] {
    const lost = [...this.#open.keys(), ...this.#listening].filter((id) => id !== this.#greeting)
    const lines = lost.map((id) => `${JSON.stringify({ jsonrpc: '2.0', id, error: lossOf(this.#open.get(id)) })}\n`)
    const cutOff = this.#midLine ? ['\n'] : []
    for (const id of lost) this.#close(id)
    this.#scanner = new JsonScanner()
    this.#midLine = false
    return [...cutOff, ...lines]
  }

  /** Opens the conversation anew with another gateway; what it offers may differ from before. */
  async greetAgain(socket: Duplex, output: Writable): Promise<void> {
    socket.write(Buffer.concat(this.handshake.map((line) => Buffer.concat([line, Buffer.from('\n')]))))
    if (this.#greeting !== undefined && this.#open.has(this.#greeting)) return
    await dropLine(socket)
    for (const what of ['tools', 'prompts', 'resources']) {
      output.write(`${JSON.stringify({ jsonrpc: '2.0', method: `notifications/${what}/list_changed` })}\n`)
    }
  }

  #noteSent(line: Buffer): void {
    const message = parsed(line)
    if (message.method === 'initialize') {
      this.handshake.length = 0
      this.#greeting = idOf(message)
    }
    if (message.method === 'initialize') this.handshake.push(Buffer.from(line))
    if (message.method === 'notifications/initialized') this.handshake.splice(1, 1, Buffer.from(line))
    if (message.method === 'notifications/cancelled' && isJsonObject(message.params))
      this.#close(message.params.requestId)
    const id = idOf(message)
    if (message.method === undefined || id === undefined) return
    if (message.method === 'subscriptions/listen') this.#listening.add(id)
    else this.#open.set(id, String(message.method))
  }

  #noteReceived(): void {
    const envelope = this.#scanner.end()
    this.#scanner = new JsonScanner()
    const id = envelope?.hasMethod ? undefined : (envelope?.numericId ?? envelope?.textId)
    this.#close(id)
  }

  #close(id: unknown): void {
    this.#listening.delete(id as Id)
    if (this.#open.delete(id as Id) && this.#open.size === 0) this.#onAnswered?.()
  }
}

/** A call may have reached its server before the gateway went: what cannot be undone must not be made twice. */
function lossOf(method: string | undefined): object {
  const retryable = method !== 'tools/call'
  const advice = retryable ? 'Try again.' : MAY_BE_DONE
  const message = `[GATEWAY_UNREACHABLE] The gateway went away before it answered. ${advice}`
  return { code: -32000, message, data: { code: 'GATEWAY_UNREACHABLE', retryable } }
}

function idOf({ id }: Readonly<Record<string, unknown>>): Id | undefined {
  if (typeof id === 'number') return Number.isSafeInteger(id) ? id : undefined
  return typeof id === 'string' && id.length <= MAX_ID_LENGTH && PLAIN.test(id) ? id : undefined
}

/** Takes the first line off a stream and leaves what comes behind it; the end of the stream is an end too. */
function dropLine(stream: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('readable', look).off('close', done)
      resolve()
    }
    const look = (): void => {
      for (let chunk: Buffer | null = stream.read(); chunk !== null; chunk = stream.read()) {
        const end = chunk.indexOf(0x0a)
        if (end < 0) continue
        if (end + 1 < chunk.length) stream.unshift(chunk.subarray(end + 1))
        return done()
      }
    }
    stream.once('close', done).on('readable', look)
  })
}

function parsed(line: Buffer): Readonly<Record<string, unknown>> {
  try {
    const message: unknown = JSON.parse(line.toString('utf8'))
    return isJsonObject(message) ? message : {}
  } catch {
    return {}
  }
}
