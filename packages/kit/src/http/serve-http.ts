import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { SallyportError } from '@sallyport/core'
import type { McpServer } from '../mcp-server.ts'
import { watchUnhandledRejections } from '../unhandled-rejections.ts'
import { createEndpoint, type HttpLimits, sendThrown } from './http-handler.ts'
import { createRequestGuard } from './request-guard.ts'

/** Where a server listens over HTTP, who may call it, and its limits. */
export interface HttpOptions extends HttpLimits {
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** 0: any free port. */
  readonly port: number
  /** Default: /mcp. */
  readonly path?: string
  /** Values of the Host header besides the address itself, such as `mcp.example.com`. */
  readonly allowedHosts?: readonly string[]
  /** Origins of web pages that may call, such as `https://app.example.com`. */
  readonly allowedOrigins?: readonly string[]
}

/** A server that listens over HTTP, until it is closed. */
export interface HttpServing {
  /** The URL that clients connect to. */
  readonly url: string
  /** Cancels the requests in flight and ends every stream. */
  close(): Promise<void>
}

/** Slow or silent peers lose their connection; a running call has no time limit. */
const TIMEOUTS = {
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 120_000,
  connectionsCheckingInterval: 5_000,
}
const HINTS = {
  host: 'add the exact Host value to the allowedHosts of serveHttp.',
  origin: 'add its exact origin to the allowedOrigins of serveHttp.',
}
const SHUTDOWN_TIMEOUT_MS = 200

/** Serves Streamable HTTP in both protocol eras. Every request is authenticated. */
export async function serveHttp(server: McpServer, options: HttpOptions): Promise<HttpServing> {
  const { host = '127.0.0.1', path = '/mcp', allowedHosts = [], allowedOrigins = [] } = options
  server.assertMayListen(host)
  const endpoint = createEndpoint(server, options)
  const listener = createServer({ ...TIMEOUTS, noDelay: true, requireHostHeader: false })
  const port = await listen(listener, host, options.port)
  const guard = createRequestGuard({ listening: [{ host, port }], allowedHosts, allowedOrigins, hints: HINTS })
  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refused = guard(request)
    if (refused !== undefined) throw refused
    if (request.url?.split('?')[0] !== path) throw new SallyportError('ROUTE_UNKNOWN', `The path must be ${path}.`)
    await endpoint.handle(request, response)
  }
  listener.on('request', (request, response) => {
    route(request, response).catch((error) => sendThrown(server, response, error))
  })
  const unwatch = watchUnhandledRejections((error) => server.reportBug('work that no handler awaited', error))
  return {
    url: `http://${formatReachableHost(host)}:${port}${path}`,
    close: () => {
      unwatch()
      endpoint.close()
      return closeListener(listener)
    },
  }
}

/** The host by which this machine reaches that address. */
function formatReachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

function listen(listener: Server, host: string, port: number): Promise<number> {
  refuseNonHttp(listener)
  return new Promise((resolve, reject) => {
    listener.once('error', (error: NodeJS.ErrnoException) => {
      const message = `Cannot listen on ${host}:${port}: ${error.code ?? error.message}.`
      const hint = 'Choose another port (0 takes any free one), or stop the program that uses it.'
      reject(new SallyportError('PORT_UNAVAILABLE', message, { hint, cause: error }))
    })
    listener.listen({ host, port }, () => {
      listener.removeAllListeners('error').on('error', () => undefined)
      resolve((listener.address() as AddressInfo).port)
    })
  })
}

/** Invalid HTTP gets a status, unless a response has begun: then ours would be read as a part of it. */
function refuseNonHttp(listener: Server): void {
  const answers = new WeakMap<object, ServerResponse>()
  listener.prependListener('request', (request, response) => answers.set(request.socket, response))
  listener.on('clientError', (_error, socket) => {
    const answer = answers.get(socket)
    const interrupts = answer?.headersSent && !answer.writableFinished
    const isSilent = (socket as Socket).bytesRead === 0
    if (socket.writable && !interrupts && !isSilent)
      socket.write('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
    ;(socket as Socket).destroySoon()
  })
}

function closeListener(listener: Server): Promise<void> {
  return new Promise((resolve) => {
    listener.close(() => resolve())
    listener.closeIdleConnections()
    // A client that does not read the end of its stream is not waited for.
    setTimeout(() => listener.closeAllConnections(), SHUTDOWN_TIMEOUT_MS).unref()
  })
}
