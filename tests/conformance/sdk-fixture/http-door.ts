import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import {
  classifyInboundRequest,
  createMcpHandler,
  isInitializeRequest,
  localhostAllowedHostnames,
  validateHostHeader,
} from '@modelcontextprotocol/server'
import { EventLog } from './event-log.ts'
import { createSdkServer } from './sdk-server.ts'

/** How long a client is told to wait before it comes back to a stream that was closed. */
const RETRY_MS = 500

type Answer = (request: IncomingMessage, response: ServerResponse, body: unknown) => Promise<void>
type Transport = NodeStreamableHTTPServerTransport

/** Both eras on one address: sessions for legacy clients, and a fresh server for each request of modern ones. */
export function createHttpDoor(): Server {
  const modern = createMcpHandler(() => createSdkServer({ announce: modern.notify }), { legacy: 'reject' })
  const answerModern = toNodeHandler(modern) as Answer
  const sessions = new Map<string, Transport>()

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = request.method === 'POST' ? await json(request) : undefined
    if (request.method === 'POST' && !isLegacy(request, body)) return answerModern(request, response, body)
    const id = header(request, 'mcp-session-id')
    const known = id === undefined ? undefined : sessions.get(id)
    if (known) return known.handleRequest(request, response, body)
    if (id !== undefined) return refuse(response, 404, 'There is no such session')
    if (!isInitializeRequest(body)) return refuse(response, 400, 'Mcp-Session-Id is missing')
    await (await openSession(sessions)).handleRequest(request, response, body)
  }

  return createServer((request, response) => {
    if (!validateHostHeader(request.headers.host, localhostAllowedHostnames()).ok)
      return refuse(response, 403, 'This host is not served')
    answer(request, response).catch((error: Error) => {
      if (response.headersSent) response.destroy()
      else refuse(response, 400, error.message)
    })
  })
}

async function openSession(sessions: Map<string, Transport>): Promise<Transport> {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new EventLog(),
    retryInterval: RETRY_MS,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  })
  await createSdkServer().connect(transport)
  return transport
}

function isLegacy(request: IncomingMessage, body: unknown): boolean {
  const version = header(request, 'mcp-protocol-version')
  const method = header(request, 'mcp-method')
  const { kind } = classifyInboundRequest({
    httpMethod: 'POST',
    ...(version !== undefined && { protocolVersionHeader: version }),
    ...(method !== undefined && { mcpMethodHeader: method }),
    body,
  })
  return kind === 'legacy'
}

function header({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const error = { code: -32_000, message }
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }))
}
