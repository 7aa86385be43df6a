import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request of a recording. */
export interface RecordedRequest {
  readonly verb: string
  readonly headers: IncomingHttpHeaders
  readonly message?: unknown
}

export interface RecordingProxy {
  readonly url: string
  readonly requests: readonly RecordedRequest[]
  close(): Promise<void>
}

const MCP_PATH = '/mcp'
/** Of the connection, not of the client. */
const HOP = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'])

/** A proxy before an HTTP server that passes everything on and records what clients send. */
export async function openRecordingProxy(target: string): Promise<RecordingProxy> {
  const requests: RecordedRequest[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const { method: verb = 'GET', headers } = request
    const own = Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP.has(name)))
    const message = body.length > 0 && { message: JSON.parse(body.toString('utf8')) }
    // Some clients try other paths for a login.
    if (request.url === MCP_PATH) requests.push({ verb, headers: own, ...message })
    const url = new URL(request.url ?? MCP_PATH, target)
    const onward = sendRequest(url, { method: verb, headers: { ...own, 'content-length': body.length } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      response.flushHeaders()
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    onward.end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${MCP_PATH}`,
    requests,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
