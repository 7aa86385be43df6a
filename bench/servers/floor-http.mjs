// The floor over HTTP: the cost of a Node proxy that governs nothing.
//   node floor-http.mjs pipe|pipe-undici|json PORT UPSTREAM_URL
// pipe         node:http in and out, bodies piped unread
// pipe-undici  the same, with undici towards the upstream
// json         bodies parsed and printed again both ways, as a gateway does that reads them
import { Agent, createServer, request as httpRequest } from 'node:http'
import { Pool } from 'undici'
import { readBody } from './body.mjs'

const [mode, port, upstreamUrl] = process.argv.slice(2)
const upstream = new URL(upstreamUrl)
const agent = new Agent({ keepAlive: true, maxSockets: 256, scheduling: 'lifo' })
const OWN_TO_A_HOP = new Set(['host', 'connection', 'transfer-encoding', 'keep-alive', 'expect'])

function passedOn(headers) {
  const passed = {}
  for (const name in headers) if (!OWN_TO_A_HOP.has(name)) passed[name] = headers[name]
  return passed
}

const fail = (response) => (error) => {
  if (!response.headersSent) response.writeHead(502)
  response.end(error.message)
}

function ask(method, headers, onAnswer) {
  const { hostname, port, pathname } = upstream
  return httpRequest({ host: hostname, port, path: pathname, method, agent, headers }, onAnswer)
}

function pipe(request, response) {
  const asked = ask(request.method, passedOn(request.headers), (answer) => {
    response.writeHead(answer.statusCode, passedOn(answer.headers))
    answer.pipe(response)
  })
  asked.on('error', fail(response))
  request.pipe(asked)
}

function json(request, response) {
  readBody(request, (body) => {
    const sent = printAgain(body)
    const headers = { ...passedOn(request.headers), 'content-length': Buffer.byteLength(sent) }
    const asked = ask(request.method, headers, (answer) =>
      readBody(answer, (answered) => {
        const text = printAgain(answered)
        const length = { 'content-length': Buffer.byteLength(text) }
        response.writeHead(answer.statusCode, { ...passedOn(answer.headers), ...length }).end(text)
      }),
    )
    asked.on('error', fail(response)).end(sent)
  })
}

const printAgain = (body) => (body.length === 0 ? '' : JSON.stringify(JSON.parse(body.toString())))

function createPipeUndici() {
  const pool = new Pool(upstream.origin, { connections: 64, pipelining: 1 })
  return (request, response) => {
    const { method } = request
    const body = method === 'POST' ? request : undefined
    pool
      .stream({ path: upstream.pathname, method, headers: passedOn(request.headers), body }, (answer) => {
        response.writeHead(answer.statusCode, passedOn(answer.headers))
        return response
      })
      .catch(fail(response))
  }
}

const MODES = { pipe: () => pipe, json: () => json, 'pipe-undici': createPipeUndici }
createServer({ keepAliveTimeout: 120_000, requestTimeout: 0 }, MODES[mode]()).listen(Number(port), '127.0.0.1')
