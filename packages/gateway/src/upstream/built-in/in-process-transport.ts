import { parseOwnerKey, SallyportError } from '@sallyport/core'
import type { Connection, McpServer } from '@sallyport/kit'
import { FrameReader } from '../answers/frame-reader.ts'
import { recheckPermit, usePermit } from '../permit.ts'
import type { EncodedRequest, Transport, TransportEvents } from '../transport.ts'

export interface InProcessOptions {
  readonly server: McpServer
  readonly maxMessageBytes: number
}

/** The connection of one session: the server acts on behalf of that session. */
interface SessionConnection {
  readonly connection: Connection
  readonly inFlight: Set<unknown>
}

/** If there are more, those without pending requests are closed: a new one is cheap. */
const MAX_SESSIONS = 1_000

/**
 * A server in our own process. It exchanges JSON text, so that the code above cannot distinguish it from one behind a
 * pipe.
 */
export class InProcessTransport implements Transport {
  readonly #server: McpServer
  readonly #maxMessageBytes: number
  readonly #reader: FrameReader
  /** The least recently used first. */
  readonly #sessions = new Map<string, SessionConnection>()
  /** Requests whose permits are being rechecked. */
  readonly #rechecking = new Set<number>()
  #events: TransportEvents | undefined
  /** For requests that belong to no session. */
  #connection: Connection | undefined

  constructor({ server, maxMessageBytes }: InProcessOptions) {
    this.#server = server
    this.#maxMessageBytes = maxMessageBytes
    this.#reader = new FrameReader(maxMessageBytes)
  }

  async open(events: TransportEvents): Promise<void> {
    this.#events = events
    this.#connection = this.#server.connect((message) => this.#deliver(message))
  }

  request(request: EncodedRequest): void {
    // After the close nobody waits for the answer.
    if (this.#connection === undefined) return
    if (usePermit(request.call.permit)) return this.#transmit(request)
    this.#rechecking.add(request.id)
    void recheckPermit(request.call.permit).then((refusal) => this.#onRechecked(request, refusal))
  }

  #onRechecked(request: EncodedRequest, refusal: SallyportError | undefined): void {
    if (!this.#rechecking.delete(request.id)) return
    if (refusal) this.#events?.onFailure(request.id, refusal)
    else this.request(request)
  }

  #transmit({ id, text, call: { session } }: EncodedRequest): void {
    if (session === undefined) return this.send(text)
    const { connection, inFlight } = this.#connectionFor(session)
    inFlight.add(id)
    receiveSoon(connection, text)
  }

  /** A notification belongs to the holder of the request, if the request is still open. */
  send(text: string): void {
    for (const connection of this.#connections()) receiveSoon(connection, text)
  }

  /** A request whose permit is being rechecked is not sent at all. */
  abandon(id: number): boolean {
    return this.#rechecking.delete(id)
  }

  setProtocolVersion(): void {}

  async close(): Promise<void> {
    const connections = this.#connections()
    this.#connection = undefined
    this.#sessions.clear()
    this.#rechecking.clear()
    for (const connection of connections) connection.close()
  }

  #connections(): readonly Connection[] {
    const dedicated = [...this.#sessions.values()].map(({ connection }) => connection)
    return this.#connection === undefined ? dedicated : [this.#connection, ...dedicated]
  }

  #connectionFor(session: string): SessionConnection {
    const connection = this.#sessions.get(session) ?? this.#openSession(session)
    this.#sessions.delete(session)
    this.#sessions.set(session, connection)
    return connection
  }

  #openSession(session: string): SessionConnection {
    if (this.#sessions.size >= MAX_SESSIONS) this.#closeIdleSession()
    const inFlight = new Set<unknown>()
    const { user: userId, session: sessionId } = parseOwnerKey(session)
    const send = (message: object): void => {
      if (!('id' in message)) return this.#forwardNotification(message)
      inFlight.delete(message.id)
      this.#deliver(message)
    }
    // A cancelled request gets no answer, and must not hold its connection forever.
    const onCancelled = (id: unknown): void => void inFlight.delete(id)
    return { inFlight, connection: this.#server.connect(send, { identity: { userId, sessionId }, onCancelled }) }
  }

  /** Changed lists concern everybody, so only the first connection reports them. */
  #forwardNotification(message: object): void {
    if (!('method' in message) || !/list_changed$/.test(String(message.method))) this.#deliver(message)
  }

  #closeIdleSession(): void {
    for (const [session, { connection, inFlight }] of this.#sessions) {
      if (inFlight.size > 0) continue
      this.#sessions.delete(session)
      connection.close()
      return
    }
  }

  #deliver(message: object): void {
    const text = JSON.stringify(message)
    const events = this.#events
    if (this.#connection === undefined || events === undefined) return
    this.#reader.feed(Buffer.from(text))
    const outcome = this.#reader.finish()
    if (outcome.kind === 'frame') events.onFrame(outcome.frame, undefined)
    else if ('id' in message && typeof message.id === 'number')
      events.onFailure(message.id, this.#refusal(outcome.kind))
    else events.onWarning(`A notification of the built-in server was dropped (${outcome.kind}).`)
  }

  #refusal(kind: string): SallyportError {
    if (kind !== 'oversized')
      return new SallyportError('UPSTREAM_PROTOCOL', 'The answer is nested too deeply to be passed on.')
    return new SallyportError('UPSTREAM_TOO_LARGE', `The answer is over the limit of ${this.#maxMessageBytes} bytes.`, {
      hint: 'Ask for a smaller part of it.',
    })
  }
}

/** In a separate turn of the event loop: an answer must not arrive before the call that asked has returned. */
function receiveSoon(connection: Connection, text: string): void {
  queueMicrotask(() => connection.receive(JSON.parse(text)))
}
