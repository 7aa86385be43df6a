import { once } from 'node:events'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { MAY_HAVE_RUN_HINT, type Principal, SallyportError } from '@sallyport/core'
import { connectSocket } from '../../serve/gateway-socket.ts'
import { createTimeoutError, RESPONSE_TIMEOUT_MS } from './gateway-timeout.ts'

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  /** JSON text. */
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

export interface ApiReply {
  readonly status: number
  readonly body: AsyncIterable<Uint8Array>
}

/** One request to a gateway's API, wherever that gateway is. */
export type ApiTransport = (request: ApiRequest) => Promise<ApiReply>

/** Whether a gateway listens on the socket of a state. A killed gateway leaves a socket file without a listener. */
export async function isListening(state: string): Promise<boolean> {
  try {
    const socket = connectSocket(state)
    await once(socket, 'connect')
    socket.destroy()
    return true
  } catch {
    // If the socket cannot be reached, opening the state reports what is wrong.
    return false
  }
}

export interface SocketTransportOptions {
  readonly state: string
  readonly home?: string | undefined
  /** How long the gateway may stay silent. */
  readonly timeoutMs?: number
}

/** Sends requests to the gateway that holds the state, over its socket. */
export function createSocketTransport(options: SocketTransportOptions): ApiTransport {
  const { state, home, timeoutMs = RESPONSE_TIMEOUT_MS } = options
  const homeHeader = home === undefined ? {} : { 'x-sallyport-home': encodeURIComponent(home) }
  return ({ method, path, body, headers, signal }) =>
    new Promise((resolve, reject) => {
      const request = httpRequest({
        createConnection: () => connectSocket(state),
        method,
        path,
        headers: { host: 'localhost', ...homeHeader, ...headers, ...contentTypeHeader(body) },
      })
      const stop = (): void => void request.destroy(signal?.reason)
      if (signal?.aborted) stop()
      signal?.addEventListener('abort', stop, { once: true })
      request.once('close', () => signal?.removeEventListener('abort', stop))
      request.once('error', (error) => reject(signal?.aborted ? signal.reason : unreachable(error, method)))
      request.once('response', (response) =>
        resolve({ status: response.statusCode ?? 500, body: readBody(response, { signal, method }) }),
      )
      const stopProbe = startLivenessProbe(state, timeoutMs, () => {
        void createTimeoutError(state, timeoutMs).then((error) => request.destroy(error))
      })
      // A request that never connected emits no `close`.
      request.once('response', stopProbe).once('close', stopProbe).once('error', stopProbe)
      request.end(body)
    })
}

/**
 * An answer may take long: a tool runs, or a long log is searched. So a short parallel request checks that the gateway
 * is alive.
 */
function startLivenessProbe(state: string, timeoutMs: number, onSilence: () => void): () => void {
  let probe: ClientRequest | undefined
  const timer = setInterval(() => {
    if (probe !== undefined) {
      clearInterval(timer)
      return onSilence()
    }
    probe = httpRequest({
      createConnection: () => connectSocket(state),
      path: '/api/status',
      headers: { host: 'localhost' },
    })
    probe.once('response', (response) => response.resume())
    probe.once('close', () => {
      probe = undefined
    })
    // If the gateway is gone, the main request fails as well.
    probe.once('error', () => {})
    probe.end()
  }, timeoutMs / 2)
  return () => {
    clearInterval(timer)
    probe?.destroy()
  }
}

async function* readBody(
  response: IncomingMessage,
  { signal, method }: Pick<ApiRequest, 'signal' | 'method'>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* response
  } catch (error) {
    throw signal?.aborted ? signal.reason : unreachable(error, method)
  }
}

/** The API of a gateway in this process. */
export interface LocalApi {
  fetch(request: Request, env: { readonly principal: Principal }): Response | Promise<Response>
}

export function createLocalTransport(api: LocalApi, principal: Principal): ApiTransport {
  return async ({ method, path, body, headers, signal }) => {
    const init: RequestInit = { method, headers: { ...headers, ...contentTypeHeader(body) }, ...(signal && { signal }) }
    if (body !== undefined) init.body = body
    const response = await rejectOnAbort(api.fetch(new Request(`http://localhost${path}`, init), { principal }), signal)
    return { status: response.status, body: response.body ? readStream(response.body, signal) : emptyBody() }
  }
}

/** The signal cancels the request as well, but the caller must not wait for an answer that never comes. */
async function rejectOnAbort<Value>(work: Value | Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return work
  signal.throwIfAborted()
  let stop = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** A feed never ends by itself, so the signal ends it. */
async function* readStream(body: ReadableStream<Uint8Array>, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  const stop = (): void => void reader.cancel(signal?.reason)
  signal?.addEventListener('abort', stop, { once: true })
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value
    signal?.throwIfAborted()
  } finally {
    signal?.removeEventListener('abort', stop)
    await reader.cancel()
  }
}

const contentTypeHeader = (body: string | undefined) =>
  body === undefined ? {} : { 'content-type': 'application/json' }

async function* emptyBody(): AsyncGenerator<Uint8Array> {}

/** With these codes nobody listened, so nothing was sent. */
const NOT_SENT_CODES: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOENT'])

/** A read can be retried. Anything else that was sent may have been executed. */
function unreachable(cause: unknown, method: string): SallyportError {
  if (cause instanceof SallyportError) return cause
  const isSafe = method === 'GET' || NOT_SENT_CODES.has((cause as NodeJS.ErrnoException).code)
  return new SallyportError('GATEWAY_UNREACHABLE', 'The gateway ended before it answered.', {
    hint: isSafe ? 'Try again: the next command starts what is needed.' : MAY_HAVE_RUN_HINT,
    cause,
  })
}
