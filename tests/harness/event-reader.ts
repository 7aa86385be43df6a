import { RawConnection, rawRequest } from './raw-http.ts'

/** An event as it came over the wire. */
export interface SeenEvent {
  readonly id: string
  readonly retry: number | undefined
  /** `undefined` if the event has only an id. */
  readonly message: Record<string, any> | undefined
}

export interface StreamRequest {
  readonly session: string
  /** Posts this; opens the stream to listen on otherwise. */
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

const EVENT = /id: (\S+)\n(?:retry: (\d+)\n)?(?:event: message\n)?data:[ ]?(.*)\n\n/g

/** Reads an event stream from a connection that can be cut at any moment. */
export class EventReader {
  readonly #connection: RawConnection

  /** For a connection that has asked for its stream already; see `open`. */
  constructor(connection: RawConnection) {
    this.#connection = connection
  }

  static async open(url: string, { session, body, headers }: StreamRequest): Promise<EventReader> {
    const connection = await RawConnection.open(url)
    const verb = body ? 'POST' : 'GET'
    const usual = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
    const accept = 'application/json, text/event-stream'
    const request = { verb, headers: { ...usual, accept, ...headers } }
    connection.send(rawRequest(url, body ? { ...request, body: JSON.stringify(body) } : request))
    await connection.sees('\r\n\r\n')
    return new EventReader(connection)
  }

  get head(): string {
    return this.#connection.received.split('\r\n\r\n')[0] ?? ''
  }

  /** Everything that has come so far. */
  get events(): readonly SeenEvent[] {
    return [...withoutChunks(this.#connection.received).matchAll(EVENT)].map(([, id = '', retry, data = '']) => ({
      id,
      retry: retry === undefined ? undefined : Number(retry),
      message: data === '' ? undefined : JSON.parse(data),
    }))
  }

  get messages(): readonly Record<string, any>[] {
    return this.events.flatMap(({ message }) => message ?? [])
  }

  get lastId(): string {
    return this.events.at(-1)?.id ?? ''
  }

  get isClosed(): boolean {
    return this.#connection.isClosed
  }

  sees(text: string): Promise<void> {
    return this.#connection.sees(text)
  }

  /** Waits until the stream has ended as it should. */
  ends(): Promise<void> {
    return this.sees('\r\n0\r\n\r\n')
  }

  /** Cuts the connection, as a proxy does after its timeout. */
  async cut(): Promise<void> {
    this.#connection.drop()
    await this.#connection.closed
  }
}

/** The body of an answer, as far as it has come. */
function withoutChunks(received: string): string {
  let body = ''
  for (let at = received.indexOf('\r\n\r\n') + 4; ; ) {
    const end = received.indexOf('\r\n', at)
    const size = Number.parseInt(received.slice(at, end), 16)
    if (end < 0 || !(size > 0)) return body
    body += received.slice(end + 2, end + 2 + size)
    at = end + size + 4
  }
}
