import { type ClientRequest, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type EgressControl, isRefusal, type Refusal } from './egress-control.ts'
import { toClientHeaders, toServerHeaders } from './forwarded-headers.ts'
import type { OutgoingConnection } from './outgoing-connection.ts'
import { refuseRequest } from './refusal-response.ts'
import { namesSameHost, type RequestTarget } from './request-target.ts'
import { carryBothWays, endTogether } from './tunnel.ts'

/** A request of a client, and what it is answered with. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Present if the client wants to change to WebSocket: its socket, and what it has sent after the request. */
  readonly webSocket?: { readonly client: Socket; readonly head: Buffer }
}

/** Sends a request on, over a connection of its own, in our serialisation. */
export async function forwardRequest(
  exchange: Exchange,
  { target, path }: RequestTarget,
  control: EgressControl,
): Promise<void> {
  const { request, response, webSocket } = exchange
  const headers = toServerHeaders(request, target, { isWebSocket: webSocket !== undefined })
  if (headers === undefined)
    return refuseRequest(response, { status: 400, reason: 'its transfer encoding is not supported' })
  if (!namesSameHost(request, target))
    return refuseRequest(
      response,
      control.refuse(target, { status: 403, reason: 'its Host header names another host' }),
    )
  const connection = control.admit(target)
  if (isRefusal(connection)) return refuseRequest(response, connection)
  response.once('close', () => connection.close())
  const upstream = await control.connect(connection)
  if (isRefusal(upstream)) return refuseRequest(response, upstream)
  const outward = openRequest({
    createConnection: () => upstream,
    method: request.method,
    path,
    headers,
    maxHeaderSize: control.limits.headBytes,
  })
  connection.onClose(() => {
    if (connection.cutReason !== undefined) response.destroy()
  })
  request.on('data', ({ length }: Buffer) => control.count(connection, { sent: length }))
  answerFrom(outward, exchange, { connection, control })
  request.pipe(outward)
}

interface Passage {
  readonly connection: OutgoingConnection
  readonly control: EgressControl
}

function answerFrom(outward: ClientRequest, exchange: Exchange, passage: Passage): void {
  const { response } = exchange
  let hasAnswer = false
  const fail = (): void => {
    if (!hasAnswer) refuseRequest(response, SERVER_FAILED)
    hasAnswer = true
  }
  outward.on('error', fail)
  outward.once('close', fail)
  outward.once('response', (incoming) => {
    hasAnswer = true
    passResponse(incoming, response, passage)
  })
  outward.once('upgrade', (incoming, upstream, head) => {
    hasAnswer = true
    passUpgrade(incoming, exchange, { ...passage, upstream, head })
  })
}

function passResponse(incoming: IncomingMessage, response: ServerResponse, { connection, control }: Passage): void {
  const headers = toClientHeaders(incoming)
  incoming.on('error', () => response.destroy())
  if (headers === undefined || !writeHead(response, incoming, headers)) {
    connection.close()
    return refuseRequest(response, SERVER_FAILED)
  }
  incoming.on('data', ({ length }: Buffer) => control.count(connection, { received: length }))
  incoming.pipe(response)
}

/** `false` for a status that node:http does not write. */
function writeHead(response: ServerResponse, incoming: IncomingMessage, headers: string[]): boolean {
  try {
    response.writeHead(incoming.statusCode ?? 0, incoming.statusMessage, headers)
    return true
  } catch {
    return false
  }
}

interface Upgraded extends Passage {
  readonly upstream: Socket
  readonly head: Buffer
}

function passUpgrade(incoming: IncomingMessage, { response, webSocket }: Exchange, upgraded: Upgraded): void {
  const { connection, upstream, head } = upgraded
  const headers = toClientHeaders(incoming)
  if (webSocket === undefined || headers === undefined) {
    connection.close()
    return refuseRequest(response, SERVER_FAILED)
  }
  const { client } = webSocket
  response.detachSocket(client)
  endTogether(client, connection)
  const lines = formatHeaders([...headers, 'Connection', 'Upgrade', 'Upgrade', 'websocket'])
  client.write(`HTTP/1.1 101 Switching Protocols\r\n${lines}\r\n`, 'latin1')
  client.write(head)
  carryBothWays({ ...upgraded, client, upstream }, webSocket.head)
}

const SERVER_FAILED: Refusal = { status: 502, reason: 'the server closed the connection' }

const formatHeaders = (flat: readonly string[]): string =>
  flat.map((part, index) => (index % 2 === 0 ? `${part}: ` : `${part}\r\n`)).join('')
