import type { SallyportError } from '@sallyport/core'
import type { Dispatcher } from 'undici'
import type { HttpEndpoint, Lane } from './http-endpoint.ts'
import { networkFailure, redirectFailure } from './http-failure.ts'

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly lane: Lane
  readonly path: string
  readonly headers: readonly string[]
  readonly body?: string
}

export interface ExchangeListener {
  onHead(status: number, headers: ResponseHeaders): void
  onBody(chunk: Buffer): void
  onEnd(): void
  /** It ended before its time; nothing follows. */
  onError(error: SallyportError): void
}

/** One HTTP request and its response. A handler of undici's own interface: streams and promises would cost more than the rest of a call. */
export class HttpExchange implements Dispatcher.DispatchHandler {
  readonly #endpoint: HttpEndpoint
  readonly #request: ExchangeRequest
  #listener: ExchangeListener | undefined
  #controller: Dispatcher.DispatchController | undefined
  #redirect: { status: number; target: URL | undefined } | undefined
  #redirected = false

  constructor(endpoint: HttpEndpoint, request: ExchangeRequest, listener: ExchangeListener) {
    this.#endpoint = endpoint
    this.#request = request
    this.#listener = listener
    this.#dispatch(request.path)
  }

  /** Ends it wherever it stands. The listener hears no more. */
  cancel(): void {
    this.#listener = undefined
    this.#controller?.abort(new Error('cancelled'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // It was still waiting for a connection when it was cancelled.
    if (this.#listener === undefined) controller.abort(new Error('cancelled'))
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200) return
    const location = headers.location
    if (status < 300 || status >= 400 || status === 304) this.#listener?.onHead(status, headers)
    else this.#redirect = { status, target: targetOf(location, this.#endpoint.url) }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#redirect === undefined) this.#listener?.onBody(chunk)
  }

  onResponseEnd(): void {
    if (this.#redirect !== undefined) {
      this.#follow(this.#redirect)
      return
    }
    const listener = this.#listener
    this.#listener = undefined
    listener?.onEnd()
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#fail(networkFailure(error, this.#endpoint.peer, this.#controller === undefined ? 'unsent' : 'sent'))
  }

  #dispatch(path: string): void {
    const { method, headers, body, lane } = this.#request
    this.#endpoint.pool(lane).dispatch({ method, path, headers: headers as string[], body: body ?? null }, this)
  }

  /** Once, on the same origin, and only where method and body stay what they are: credentials never go elsewhere. */
  #follow({ status, target }: { status: number; target: URL | undefined }): void {
    if (this.#listener === undefined) return
    const keeps = status === 307 || status === 308
    if (!keeps || this.#redirected || target?.origin !== this.#endpoint.peer.origin) {
      this.#fail(redirectFailure(status, this.#endpoint.peer, target))
      return
    }
    this.#redirected = true
    this.#redirect = undefined
    this.#controller = undefined
    this.#dispatch(target.pathname + target.search)
  }

  #fail(error: SallyportError): void {
    const listener = this.#listener
    this.#listener = undefined
    listener?.onError(error)
  }
}

function targetOf(location: string | string[] | undefined, base: URL): URL | undefined {
  return typeof location === 'string' && URL.canParse(location, base.href) ? new URL(location, base) : undefined
}
