// The floor from HTTP to stdio: a relay that reads only the id of an answer.
//   node floor-stdio.mjs PORT PROGRAM [ARGUMENT ...]
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { readBody } from './body.mjs'
import { readLines } from './lines.mjs'

const [port, program, ...args] = process.argv.slice(2)
const ID = '"id":'
const waiting = new Map()
let lastId = 0

const upstream = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
upstream.once('exit', () => process.exit(1))

/** An answer begins with `{"jsonrpc":"2.0","id":N`: N is replaced by the caller's own id, the rest passes as bytes. */
readLines(upstream.stdout, (line) => {
  const from = line.indexOf(ID) + ID.length
  const to = line.indexOf(',', from)
  const id = Number(line.toString('latin1', from, to))
  const caller = waiting.get(id)
  if (caller === undefined) return
  waiting.delete(id)
  const head = line.toString('latin1', 0, from) + JSON.stringify(caller.id)
  const rest = line.subarray(to)
  const length = Buffer.byteLength(head) + rest.length
  caller.response.writeHead(200, { 'content-type': 'application/json', 'content-length': length })
  caller.response.write(head)
  caller.response.end(rest)
})

function relay(request, response) {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  readBody(request, (body) => {
    const message = JSON.parse(body.toString())
    if (message.id === undefined) response.writeHead(202).end()
    else {
      lastId++
      waiting.set(lastId, { id: message.id, response })
      message.id = lastId
    }
    upstream.stdin.write(`${JSON.stringify(message)}\n`)
  })
}

createServer({ keepAliveTimeout: 120_000, requestTimeout: 0 }, relay).listen(Number(port), '127.0.0.1')
