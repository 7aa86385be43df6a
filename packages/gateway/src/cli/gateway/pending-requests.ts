import type { Duplex, Writable } from 'node:stream'
import { isJsonObject, JsonScanner, MAY_HAVE_RUN_HINT } from '@sallyport/core'
import { LineReader } from '@sallyport/kit/line-reader'

type Id = string | number

const MAX_LINE = 64 * 1_024 * 1_024
/** The gateway accepts no longer ids, and the scanner reports no ids with other characters. */
const MAX_ID_LENGTH = 256
const PLAIN = /^[\x20-\x7e]*$/

/** Tracks which requests of an agent are unanswered, and how the agent opened the conversation. */
export class PendingRequests {
  /** The lines that opened a legacy conversation: they have to be sent again to another gateway. */
  readonly handshake: Buffer[] = []
  /** The method of each pending request, by id. */
  readonly #pending = new Map<Id, string>()
  /** Subscriptions. Nobody waits for their answer, but after the gateway is gone the agent has to subscribe again. */
  readonly #listening = new Set<Id>()
  /** The id of the agent's `initialize`. */
  #initializeId: Id | undefined
  #onAnswered: (() => void) | undefined
  readonly #sentLines = new LineReader({
    limit: MAX_LINE,
    onLine: (line) => this.#noteSent(line),
    onOversized: () => {},
  })
  #scanner = new JsonScanner()
  /** True inside a line: output of the next gateway must not be appended to an answer that was cut off. */
  #midLine = false

  onSent(chunk: Buffer): void {
    this.#sentLines.feed(chunk)
  }

  /** Scans the data without buffering it: an answer may be large. */
  onReceived(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, from)) {
      this.#scanner.feed(chunk.subarray(from, at))
      from = at + 1
      this.#noteReceived()
    }
    this.#midLine = from < chunk.length
    if (this.#midLine) this.#scanner.feed(chunk.subarray(from))
  }

  /** The part of an incomplete line that was sent: another gateway has to get the line from its beginning. */
  get unfinished(): Buffer {
    return this.#sentLines.unfinished
  }

  /** Calls `done` as soon as no request is pending. */
  whenAnswered(done: () => void): void {
    this.#onAnswered = done
    if (this.#pending.size === 0) done()
  }

  /** Error lines for all requests that will get no other answer. The next gateway answers `initialize`. */
  failPending(): readonly string[] {
    const lost = [...this.#pending.keys(), ...this.#listening].filter((id) => id !== this.#initializeId)
    const lines = lost.map(
      (id) => `${JSON.stringify({ jsonrpc: '2.0', id, error: createLossError(this.#pending.get(id)) })}\n`,
    )
    const cutOff = this.#midLine ? ['\n'] : []
    for (const id of lost) this.#settle(id)
    this.#scanner = new JsonScanner()
    this.#midLine = false
    return [...cutOff, ...lines]
  }

  /** Opens the conversation with another gateway. Its tools may differ, so list changes are announced. */
  async repeatHandshake(socket: Duplex, output: Writable): Promise<void> {
    socket.write(Buffer.concat(this.handshake.map((line) => Buffer.concat([line, Buffer.from('\n')]))))
    if (this.#initializeId !== undefined && this.#pending.has(this.#initializeId)) return
    await skipLine(socket)
    for (const kind of ['tools', 'prompts', 'resources']) {
      output.write(`${JSON.stringify({ jsonrpc: '2.0', method: `notifications/${kind}/list_changed` })}\n`)
    }
  }

  #noteSent(line: Buffer): void {
    const message = parseMessage(line)
    if (message.method === 'initialize') {
      this.handshake.length = 0
      this.#initializeId = readId(message)
    }
    if (message.method === 'initialize') this.handshake.push(Buffer.from(line))
    if (message.method === 'notifications/initialized') this.handshake.splice(1, 1, Buffer.from(line))
    if (message.method === 'notifications/cancelled' && isJsonObject(message.params))
      this.#settle(message.params.requestId)
    const id = readId(message)
    if (message.method === undefined || id === undefined) return
    if (message.method === 'subscriptions/listen') this.#listening.add(id)
    else this.#pending.set(id, String(message.method))
  }

  #noteReceived(): void {
    const envelope = this.#scanner.end()
    this.#scanner = new JsonScanner()
    const id = envelope?.hasMethod ? undefined : (envelope?.numericId ?? envelope?.stringId)
    this.#settle(id)
  }

  #settle(id: unknown): void {
    this.#listening.delete(id as Id)
    if (this.#pending.delete(id as Id) && this.#pending.size === 0) this.#onAnswered?.()
  }
}

/**
 * A call may have reached its server before the gateway ended, and an action that cannot be undone must not run twice.
 */
function createLossError(method: string | undefined): object {
  const retryable = method !== 'tools/call'
  const advice = retryable ? 'Try again.' : MAY_HAVE_RUN_HINT
  const message = `[GATEWAY_UNREACHABLE] The gateway ended before it answered. ${advice}`
  return { code: -32000, message, data: { code: 'GATEWAY_UNREACHABLE', retryable } }
}

function readId({ id }: Readonly<Record<string, unknown>>): Id | undefined {
  if (typeof id === 'number') return Number.isSafeInteger(id) ? id : undefined
  return typeof id === 'string' && id.length <= MAX_ID_LENGTH && PLAIN.test(id) ? id : undefined
}

/** Reads the first line of a stream and leaves the rest. Also resolves when the stream closes. */
function skipLine(stream: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('readable', onReadable).off('close', done)
      resolve()
    }
    const onReadable = (): void => {
      for (let chunk: Buffer | null = stream.read(); chunk !== null; chunk = stream.read()) {
        const end = chunk.indexOf(0x0a)
        if (end < 0) continue
        if (end + 1 < chunk.length) stream.unshift(chunk.subarray(end + 1))
        return done()
      }
    }
    stream.once('close', done).on('readable', onReadable)
  })
}

function parseMessage(line: Buffer): Readonly<Record<string, unknown>> {
  try {
    const message: unknown = JSON.parse(line.toString('utf8'))
    return isJsonObject(message) ? message : {}
  } catch {
    return {}
  }
}
