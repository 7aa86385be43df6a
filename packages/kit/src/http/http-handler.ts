import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLoopback, SallyportError } from '@sallyport/core'
import type { McpServer } from '../mcp-server.ts'
import { FetchBridge } from './fetch-bridge.ts'
import { sendRefusal, toHttpRefusal } from './http-refusal.ts'
import { McpHttpEndpoint } from './mcp-http-endpoint.ts'
import { createRequestGuard, type RequestGuard } from './request-guard.ts'

/** The limits of an MCP endpoint over HTTP. */
export interface HttpLimits {
  readonly maxBodyBytes?: number
  /** How long a session of the legacy era may be idle. */
  readonly sessionIdleMs?: number
  readonly maxSessions?: number
  readonly maxSessionsPerUser?: number
  /** The maximum number of concurrent requests and streams of the modern era. */
  readonly maxRequestsPerUser?: number
}

/** Who may call an endpoint that is a part of your own HTTP server, and its limits. */
export interface HttpHandlerOptions extends HttpLimits {
  /** The exact values of the Host header that clients send, such as `127.0.0.1:3000` or `mcp.example.com`. */
  readonly allowedHosts: readonly string[]
  /** Origins of web pages that may call, such as `https://app.example.com`. */
  readonly allowedOrigins?: readonly string[]
}

/** An MCP endpoint for your own HTTP server, until it is closed. The path is that of your route. */
export interface HttpHandler {
  /** Answers a request of node:http, Express or a similar framework. Mount it before any parser of bodies. */
  node(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Answers a request of Hono or of another framework with `Request` and `Response`, on Node. */
  fetch(request: Request): Promise<Response>
  /** Cancels the requests in flight and ends every stream. */
  close(): void
}

const HINTS = {
  host: 'add the exact Host value to the allowedHosts of createHttpHandler.',
  origin: 'add its exact origin to the allowedOrigins of createHttpHandler.',
}
/** Stands for every address of the machine. */
const ANY_ADDRESS = '0.0.0.0'

/** Creates an endpoint that you mount beside your own routes. Every request is authenticated. */
export function createHttpHandler(server: McpServer, options: HttpHandlerOptions): HttpHandler {
  const { allowedHosts, allowedOrigins = [] } = options
  if (allowedHosts.length === 0)
    throw new SallyportError('USAGE', 'createHttpHandler has no allowedHosts, so it would refuse every request.', {
      hint: 'Give the exact values of the Host header, such as ["127.0.0.1:3000", "mcp.example.com"].',
    })
  const guard = createRequestGuard({ listening: [], allowedHosts, allowedOrigins, hints: HINTS })
  const loopbackOnly = findLoopbackReason(server)
  const endpoint = createEndpoint(server, options)
  const node = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      checkMounted(request, { guard, loopbackOnly })
      await endpoint.handle(request, response)
    } catch (error) {
      sendThrown(server, response, error)
    }
  }
  const bridge = new FetchBridge(node)
  return {
    node,
    fetch: (request) => bridge.fetch(request),
    close() {
      endpoint.close()
      bridge.close()
    },
  }
}

export function createEndpoint(server: McpServer, limits: HttpLimits): McpHttpEndpoint {
  return new McpHttpEndpoint(server, {
    maxBodyBytes: limits.maxBodyBytes ?? 4 * 1024 * 1024,
    idleTimeoutMs: limits.sessionIdleMs ?? 3_600_000,
    maxSessions: limits.maxSessions ?? 1_000,
    maxSessionsPerUser: limits.maxSessionsPerUser ?? 100,
    maxRequestsPerUser: limits.maxRequestsPerUser ?? 1_000,
    now: Date.now,
  })
}

export function sendThrown(server: McpServer, response: ServerResponse, error: unknown): void {
  if (error instanceof SallyportError) return sendRefusal(response, toHttpRefusal(error))
  const incident = server.reportBug('an HTTP request', error)
  const message = `Something went wrong inside the server (incident ${incident}).`
  sendRefusal(response, { status: 500, error: { code: -32603, message } })
}

/** Where your server listens is not known here. So a server that is safe on loopback only checks each connection. */
function findLoopbackReason(server: McpServer): SallyportError | undefined {
  try {
    server.assertMayListen(ANY_ADDRESS)
    return undefined
  } catch (error) {
    // Without any way to identify callers it is not safe there either: that is an error at once.
    server.assertMayListen('127.0.0.1')
    if (error instanceof SallyportError) return error
    throw error
  }
}

interface MountChecks {
  readonly guard: RequestGuard
  readonly loopbackOnly: SallyportError | undefined
}

function checkMounted(request: IncomingMessage, { guard, loopbackOnly }: MountChecks): void {
  const refused = guard(request)
  if (refused !== undefined) throw refused
  if (loopbackOnly !== undefined && !isFromLoopback(request.socket.remoteAddress))
    throw new SallyportError('FORBIDDEN', 'This endpoint answers on loopback only.', {
      hint: `${loopbackOnly.hint} With fetch() the address of a client is unknown, so use node() on loopback.`,
    })
  if (request.readableEnded)
    throw new SallyportError('INVALID_REQUEST', 'The body of the request was read before it arrived here.', {
      hint: 'Mount the endpoint before parsers of bodies such as express.json().',
    })
}

const isFromLoopback = (address: string | undefined): boolean =>
  address !== undefined && isLoopback(address.replace(/^::ffff:/, ''))
