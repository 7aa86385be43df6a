import type { HttpEndpoint } from './http-endpoint.ts'
import { HttpExchange } from './http-exchange.ts'
import type { HttpReply } from './http-reply.ts'
import type { McpHeaders } from './mcp-headers.ts'

interface SideStreamContext {
  readonly endpoint: HttpEndpoint
  readonly headers: McpHeaders
}

/** Opens a stream of a legacy server by GET; with the id of an event it goes on after that one (Last-Event-ID). */
export function openSideStream(
  { endpoint, headers }: SideStreamContext,
  reply: HttpReply,
  lastEventId: string | undefined,
): HttpExchange {
  const message = { method: 'GET', lane: 'side', path: endpoint.path, headers: headers.forStream(lastEventId) } as const
  return new HttpExchange(endpoint, message, reply)
}
