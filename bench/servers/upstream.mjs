// The server behind every gateway of the bench: as little work for each call as node:http and pipes allow.
//   node upstream.mjs http     Streamable HTTP on a free port, which it prints; /t/500/mcp has 500 tools
//   node upstream.mjs stdio 3  JSON-RPC lines on stdin and stdout, with 3 tools
// Both eras are answered in both ways.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { answer } from './answer.mjs'
import { readBody } from './body.mjs'
import { readLines } from './lines.mjs'

function serveStdio(toolCount) {
  const { stdin, stdout } = process
  readLines(stdin, (line) => {
    const pieces = line.length === 0 ? undefined : answer(JSON.parse(line.toString()), toolCount)
    if (pieces === undefined) return
    stdout.cork()
    for (const piece of pieces) stdout.write(piece)
    stdout.write('\n')
    stdout.uncork()
  })
  stdin.on('end', () => process.exit(0))
}

function serveHttp() {
  const server = createServer({ keepAliveTimeout: 120_000, requestTimeout: 0 }, (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
    const toolCount = Number(/^\/t\/(\d+)\//.exec(request.url)?.[1] ?? 3)
    readBody(request, (body) => {
      const message = JSON.parse(body.toString())
      const pieces = answer(message, toolCount)
      if (pieces === undefined) return void response.writeHead(202).end()
      send(response, pieces, message.method === 'initialize' ? { 'mcp-session-id': randomUUID() } : {})
    })
  })
  server.listen(0, '127.0.0.1', () => {
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
    console.log(port)
  })
}

function send(response, pieces, headers) {
  const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length, ...headers })
  response.cork()
  for (const piece of pieces) response.write(piece)
  response.uncork()
  response.end()
}

const [way, toolCount] = process.argv.slice(2)
if (way === 'stdio') serveStdio(Number(toolCount))
else serveHttp()
