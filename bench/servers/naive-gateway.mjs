// A gateway in thirty lines of the MCP SDK: one client to the upstream, one server for each request.
//   node naive-gateway.mjs PORT http URL
//   node naive-gateway.mjs PORT stdio PROGRAM [ARGUMENT ...]
import { createServer } from 'node:http'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'

const [port, way, first, ...args] = process.argv.slice(2)
const INFO = { name: 'naive-gateway', version: '1.0.0' }

const upstream = new Client(INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
await upstream.connect(
  way === 'stdio'
    ? new StdioClientTransport({ command: first, args })
    : new StreamableHTTPClientTransport(new URL(first)),
)

function createGateway() {
  const server = new Server(INFO, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => upstream.listTools(undefined, { cacheMode: 'refresh' }))
  server.setRequestHandler('tools/call', ({ params }) =>
    upstream.callTool({ name: params.name, arguments: params.arguments }),
  )
  return server
}

createServer(toNodeHandler(createMcpHandler(createGateway))).listen(Number(port), '127.0.0.1')
