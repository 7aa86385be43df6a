import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { McpServer } from '../mcp-server.ts'
import type { Connection } from '../protocol/protocol.ts'

export interface SseServer {
  readonly url: string
  /** The received Authorization headers, in order. */
  readonly authorizations: readonly (string | undefined)[]
  close(): Promise<void>
}

/** Serves over the transport of 2024-11-05: a stream that names the address for incoming messages. */
export async function openSseServer(server: McpServer): Promise<SseServer> {
  const authorizations: (string | undefined)[] = []
  let connection: Connection | undefined
  const take = async (request: IncomingMessage): Promise<void> => connection?.receive(JSON.parse(await text(request)))
  const listener = createServer((request, response) => {
    authorizations.push(request.headers.authorization)
    if (request.method === 'POST') {
      void take(request).then(() => response.writeHead(202).end())
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: endpoint\ndata: /messages\n\n')
    connection = server.connect((message) => response.write(`data: ${JSON.stringify(message)}\n\n`))
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/sse`,
    authorizations,
    close: () => {
      connection?.close()
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()))
      listener.closeAllConnections()
      return closed
    },
  }
}
