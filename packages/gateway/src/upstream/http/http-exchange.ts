import { SallyportError } from '@sallyport/core'
import { GATEWAY_PERMIT, type Permit } from '../permit.ts'
import type { ClientConnection, ConnectionRequest, WireRequest } from './client-connection.ts'
import type { HttpEndpoint, Lane } from './http-endpoint.ts'
import { networkFailure, redirectFailure } from './http-failure.ts'
import type { ResponseHead, ResponseHeaders } from './response-head.ts'

export interface HttpExchangeRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly lane: Lane
  readonly path: string
  readonly headers: readonly string[]
  readonly body?: string
  /** The body at the moment when it is written, if it changes while it waits. */
  readonly currentBody?: (() => string) | undefined
  /** If missing, it is a message of the gateway itself. */
  readonly permit?: Permit | undefined
}

export interface HttpExchangeListener {
  onHead(status: number, headers: ResponseHeaders): void
  onBody(chunk: Buffer): void
  onEnd(): void
  /** It ended too early; no further events follow. */
  onError(error: SallyportError): void
}

/**
 * One HTTP request and its response, reported by callbacks: streams and promises would cost more than the rest of a
 * call.
 */
export class HttpExchange implements ConnectionRequest {
  connection: ClientConnection | undefined
  readonly #endpoint: HttpEndpoint
  readonly #request: HttpExchangeRequest
  #listener: HttpExchangeListener | undefined
  #path: string
  #wire: WireRequest
  #redirected = false

  constructor(endpoint: HttpEndpoint, request: HttpExchangeRequest, listener: HttpExchangeListener) {
    this.#endpoint = endpoint
    this.#request = request
    this.#listener = listener
    this.#path = request.path
    this.#wire = formatRequest(endpoint.url.host, request, request.path)
    endpoint.pool(request.lane).send(this)
  }

  get wire(): WireRequest {
    const body = this.#request.currentBody?.()
    if (body !== undefined && body !== this.#wire.body)
      this.#wire = formatRequest(this.#endpoint.url.host, { ...this.#request, body }, this.#path)
    return this.#wire
  }

  /** Ends it in any state. The listener gets no further events. */
  cancel(): void {
    this.#listener = undefined
    this.#endpoint.pool(this.#request.lane).cancel(this)
  }

  onHead({ status, headers }: ResponseHead): void {
    if (status < 300 || status >= 400 || status === 304) {
      this.#listener?.onHead(status, headers)
      return
    }
    // The rest of its body is not needed, and may never end.
    this.connection?.destroy()
    this.#follow(status, resolveLocation(headers.location, this.#endpoint.url))
  }

  onBody(chunk: Buffer): void {
    this.#listener?.onBody(chunk)
  }

  onEnd(): void {
    const listener = this.#listener
    this.#listener = undefined
    listener?.onEnd()
  }

  get permit(): Permit {
    return this.#request.permit ?? GATEWAY_PERMIT
  }

  onFailure(cause: Error, reach: 'sent' | 'unsent'): void {
    this.#fail(cause instanceof SallyportError ? cause : networkFailure(cause, this.#endpoint.peer, reach))
  }

  /**
   * Follows a redirect once, on the same origin, and only if method and body stay the same: credentials never go
   * elsewhere.
   */
  #follow(status: number, target: URL | undefined): void {
    const keeps = status === 307 || status === 308
    if (!keeps || this.#redirected || target?.origin !== this.#endpoint.peer.origin) {
      this.#fail(redirectFailure(status, this.#endpoint.peer, target))
      return
    }
    this.#redirected = true
    this.#path = target.pathname + target.search
    this.#wire = formatRequest(this.#endpoint.url.host, this.#request, this.#path)
    this.#endpoint.pool(this.#request.lane).send(this)
  }

  #fail(error: SallyportError): void {
    const listener = this.#listener
    this.#listener = undefined
    listener?.onError(error)
  }
}

function resolveLocation(location: string | string[] | undefined, base: URL): URL | undefined {
  return typeof location === 'string' && URL.canParse(location, base.href) ? new URL(location, base) : undefined
}

/** Only we end the lines of a head: `sanitizeHeaderValue` removes all other line ends. */
function formatRequest(host: string, { method, headers, body }: HttpExchangeRequest, path: string): WireRequest {
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`
  for (let at = 0; at < headers.length; at += 2)
    head += `${headers[at]}: ${sanitizeHeaderValue(headers[at + 1] as string)}\r\n`
  if (body === undefined) return { head: `${head}\r\n`, body: '' }
  return { head: `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n`, body }
}

/**
 * Servers choose the ids of their events and sessions: other characters than plain text go as UTF-8 (HTML, 9.2.4),
 * without those that would end the line.
 */
function sanitizeHeaderValue(value: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return value
  return Buffer.from(value.replaceAll(/[^\t\x20-\x7e\u0080-\u{10ffff}]/gu, ''), 'utf8').toString('latin1')
}
