import { parseOwnerKey, SallyportError } from '@sallyport/core'
import type { Connection, McpServer } from '@sallyport/kit'
import { FrameReader } from '../answers/frame-reader.ts'
import { recheckPermit, usePermit } from '../permit.ts'
import type { EncodedRequest, Transport, TransportEvents } from '../transport.ts'

export interface InProcessOptions {
  readonly server: McpServer
  readonly maxMessageBytes: number
}

/** One session's own connection: what the server does for it is done in its name. */
interface SessionConnection {
  readonly connection: Connection
  readonly inFlight: Set<unknown>
}

/** More than these and those that wait for nothing are let go: they are made anew in no time. */
const MAX_SESSIONS = 1_000

/** A server in our own process, spoken to in JSON text: nothing downstream can tell it from one behind a pipe. */
export class InProcessTransport implements Transport {
  readonly #server: McpServer
  readonly #maxMessageBytes: number
  readonly #reader: FrameReader
  /** The least recently used first. */
  readonly #sessions = new Map<string, SessionConnection>()
  /** Requests whose permits are being rechecked. */
  readonly #rechecking = new Set<number>()
  #events: TransportEvents | undefined
  /** For what is asked in nobody's name. */
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
    // After the close nobody waits.
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

  /** What is told concerns whoever has the request, if anybody has it still. */
  send(text: string): void {
    for (const connection of this.#connections()) receiveSoon(connection, text)
  }

  /** One whose permit is being rechecked is not sent at all. */
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
    const seated = [...this.#sessions.values()].map(({ connection }) => connection)
    return this.#connection === undefined ? seated : [this.#connection, ...seated]
  }

  #connectionFor(session: string): SessionConnection {
    const seat = this.#sessions.get(session) ?? this.#openSession(session)
    this.#sessions.delete(session)
    this.#sessions.set(session, seat)
    return seat
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
    // A request that was cancelled gets no answer, and must not hold its seat for ever.
    const onCancelled = (id: unknown): void => void inFlight.delete(id)
    return { inFlight, connection: this.#server.connect(send, { identity: { userId, sessionId }, onCancelled }) }
  }

  /** Changed lists are everybody's, and told on the first connection. */
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

/** In a turn of its own: an answer must not overtake the return of the call that asked. */
function receiveSoon(connection: Connection, text: string): void {
  queueMicrotask(() => connection.receive(JSON.parse(text)))
}
