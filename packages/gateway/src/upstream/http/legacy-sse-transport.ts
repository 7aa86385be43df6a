import { SallyportError } from '@sallyport/core'
import type { HttpServerConfig } from '../../config/config.ts'
import { type FrameOutcome, FrameReader } from '../answers/frame-reader.ts'
import type { EncodedRequest, Transport, TransportEvents } from '../transport.ts'
import { type HttpEndpoint, openHttpEndpoint } from './http-endpoint.ts'
import { HttpExchange, type HttpExchangeListener } from './http-exchange.ts'
import { statusFailure, unexpectedBody } from './http-failure.ts'
import type { ReplyEnd } from './http-reply.ts'
import { McpHeaders } from './mcp-headers.ts'
import { OneWayPost } from './one-way-post.ts'
import { classifyReply } from './reply-kind.ts'
import type { ResponseHeaders } from './response-head.ts'
import { type SseEvent, SseParser } from './sse-parser.ts'

interface Connection {
  readonly endpoint: HttpEndpoint
  readonly headers: McpHeaders
  readonly events: TransportEvents
}

interface PendingOpen {
  readonly resolve: () => void
  readonly reject: (error: SallyportError) => void
}

const MAX_ADDRESS_BYTES = 4_096

/** The HTTP transport of 2024-11-05: one stream brings all messages, and names the address to send messages to. */
export class LegacySseTransport implements Transport, HttpExchangeListener {
  readonly #config: HttpServerConfig
  readonly #posts = new Map<OneWayPost, number | undefined>()
  readonly #reader: FrameReader
  readonly #parser: SseParser
  #connection: Connection | undefined
  #closing: Promise<void> | undefined
  #opening: PendingOpen | undefined
  #stream: HttpExchange | undefined
  #refusal: SallyportError | undefined
  /** The address for messages, once the server has sent it. */
  #path: string | undefined
  /** The data of the current event while it may still be that address. */
  #address: Buffer[] = []

  constructor(options: { readonly config: HttpServerConfig }) {
    this.#config = options.config
    this.#reader = new FrameReader(options.config.maxMessageBytes)
    this.#parser = new SseParser({
      onData: (piece) => this.#onData(piece),
      onEvent: (event) => this.#onEvent(event),
    })
  }

  async open(events: TransportEvents): Promise<void> {
    const endpoint = await openHttpEndpoint(this.#config)
    const headers = new McpHeaders(endpoint.headers)
    this.#connection = { endpoint, headers, events }
    try {
      if (this.#closing !== undefined) throw this.#closedError()
      await new Promise<void>((resolve, reject) => {
        this.#opening = { resolve, reject }
        const request = {
          method: 'GET',
          lane: 'side',
          path: endpoint.path,
          headers: headers.forStream(undefined),
        } as const
        this.#stream = new HttpExchange(endpoint, request, this)
      })
    } catch (error) {
      await endpoint.close()
      throw error
    }
  }

  request(request: EncodedRequest): void {
    this.#post(request.text, request)
  }

  send(text: string): void {
    this.#post(text)
  }

  abandon(id: number): boolean {
    for (const [notice, request] of this.#posts) {
      if (request !== id) continue
      this.#posts.delete(notice)
      notice.cancel()
    }
    return false
  }

  setProtocolVersion(protocolVersion: string): void {
    this.#connection?.headers.setVersion(protocolVersion)
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  onHead(status: number, headers: ResponseHeaders): void {
    const kind = classifyReply(status, headers)
    if (kind === 'events' || this.#connection === undefined) return
    const { peer } = this.#connection.endpoint
    this.#refusal = kind === 'refusal' ? statusFailure(status, peer, '') : unexpectedBody(peer, '')
    this.#stream?.cancel()
    this.#onLost(this.#refusal)
  }

  onBody(chunk: Buffer): void {
    if (this.#refusal === undefined) this.#parser.feed(chunk)
  }

  onEnd(): void {
    const origin = this.#connection?.endpoint.peer.origin
    this.#onLost(new SallyportError('UPSTREAM_DIED', `${origin} ended its event stream.`))
  }

  onError(error: SallyportError): void {
    this.#onLost(error)
  }

  #post(text: string, request?: EncodedRequest): void {
    const id = request?.id
    if (this.#connection === undefined) return
    const { endpoint, headers, events } = this.#connection
    if (this.#path === undefined || this.#closing !== undefined) {
      if (id !== undefined) events.onFailure(id, this.#closedError())
      return
    }
    const notice = new OneWayPost(endpoint, {
      // Some servers finish the POST of a request only when they have its answer.
      lane: id === undefined ? 'side' : 'calls',
      path: this.#path,
      headers: headers.forPost({ method: '', name: undefined }),
      text,
      currentText: request?.currentText,
      permit: request?.call.permit,
      onWarning: (warning) => events.onWarning(warning),
      onFinished: (end) => {
        this.#posts.delete(notice)
        this.#onPosted(id, end)
      },
    })
    this.#posts.set(notice, id)
    notice.start()
  }

  #onPosted(id: number | undefined, end: ReplyEnd): void {
    if (end.kind === 'done' || this.#closing !== undefined) return
    if (id === undefined)
      this.#connection?.events.onWarning(`the server did not accept a message: ${end.error.message}`)
    else this.#connection?.events.onFailure(id, end.error)
  }

  #onData(piece: Buffer): void {
    this.#reader.feed(piece)
    if (this.#path === undefined && this.#reader.bytes <= MAX_ADDRESS_BYTES) this.#address.push(piece)
  }

  #onEvent(event: SseEvent): void {
    const outcome = this.#reader.finish()
    const address = this.#address
    this.#address = []
    if (event.type !== 'endpoint') this.#onMessage(outcome)
    else if (this.#path === undefined) this.#setAddress(Buffer.concat(address).toString('utf8'))
    else this.#connection?.events.onWarning('a second address for messages was ignored')
  }

  #onMessage(outcome: FrameOutcome): void {
    const events = this.#connection?.events
    if (outcome.kind === 'garbage') events?.onWarning(`a message that is not JSON: ${outcome.reason}`)
    if (outcome.kind === 'oversized') this.#tooLarge(outcome)
    if (outcome.kind === 'frame') events?.onFrame(outcome.frame, undefined)
  }

  #tooLarge({ bytes, envelope }: Extract<FrameOutcome, { kind: 'oversized' }>): void {
    const { maxMessageBytes, id } = this.#config
    const text = `"${id}" sent a message of ${bytes} bytes; ${maxMessageBytes} are allowed.`
    if (envelope?.numericId === undefined || envelope.hasMethod) this.#connection?.events.onWarning(text)
    else this.#connection?.events.onFailure(envelope.numericId, new SallyportError('UPSTREAM_TOO_LARGE', text))
  }

  /** Messages carry our credentials: they are sent only to the origin that the operator configured. */
  #setAddress(address: string): void {
    const { url, peer } = (this.#connection as Connection).endpoint
    const target = URL.canParse(address, url.href) ? new URL(address, url) : undefined
    if (target?.origin === peer.origin) {
      this.#path = target.pathname + target.search
      this.#opening?.resolve()
      this.#opening = undefined
      return
    }
    const where = target === undefined ? 'an address that is not a valid URL' : target.origin
    this.#stream?.cancel()
    this.#onLost(
      new SallyportError(
        'UPSTREAM_PROTOCOL',
        `${peer.origin} asks us to send messages to ${where}, which is not its own origin.`,
        {
          hint: `Check the url of "${peer.server}" in config.yaml.`,
        },
      ),
    )
  }

  #onLost(error: SallyportError): void {
    if (this.#closing !== undefined) return
    const opening = this.#opening
    this.#opening = undefined
    this.#closing = this.#shutDown()
    if (opening === undefined) this.#connection?.events.onClose(error.message)
    else opening.reject(error)
  }

  async #shutDown(): Promise<void> {
    this.#stream?.cancel()
    for (const notice of this.#posts.keys()) notice.cancel()
    this.#posts.clear()
    this.#opening?.reject(this.#closedError())
    this.#opening = undefined
    await this.#connection?.endpoint.close()
  }

  #closedError(): SallyportError {
    return new SallyportError('UPSTREAM_GONE', `The connection to "${this.#config.id}" is closed.`)
  }
}
