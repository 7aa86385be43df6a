import type { ServerResponse } from 'node:http'
import type { JsonObject } from '@sallyport/core'
import type { WireMessage } from '../rpc/wire-message.ts'

/** A client that reads so slowly gets fewer notices instead of our memory. */
export const MAX_STREAM_BACKLOG_BYTES = 1_000_000
const KEEP_ALIVE_INTERVAL_MS = 25_000

/** A notice may be dropped for a client that does not read; a request or an answer never is. */
export type EventKind = 'notice' | 'request' | 'answer'

/** A request waits for the client's answer under its id. */
export const eventKindOf = (message: JsonObject): 'notice' | 'request' =>
  message.id === undefined ? 'notice' : 'request'

/** What a call says before its answer, and the answer. */
export interface EventStream {
  /** The connection that it goes over now, if there is one. */
  readonly connection: ServerResponse | undefined
  /** False when it will not reach the client. */
  send(message: WireMessage, weight: 'notice' | 'request'): boolean
  /** Ends the stream. */
  finish(answer: WireMessage): void
}

/** A stream that is lost with its connection. */
export function openPlainStream(connection: ServerResponse): EventStream {
  beginEventStream(connection)
  return {
    connection,
    send: (message, weight) => {
      if (connection.destroyed || connection.writableEnded) return false
      const isTaken = weight === 'request' || connection.writableLength <= MAX_STREAM_BACKLOG_BYTES
      if (isTaken) writeEvent(connection, message)
      return isTaken
    },
    finish: (answer) => {
      if (connection.destroyed || connection.writableEnded) return
      writeEvent(connection, answer)
      connection.end()
    },
  }
}

export function beginEventStream(response: ServerResponse, headers: Readonly<Record<string, string>> = {}): void {
  // One that is closed already will not say so again, and the timer would stay.
  if (response.destroyed || response.headersSent) return
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...headers })
  response.flushHeaders()
  const timer = setInterval(() => keepAlive(response), KEEP_ALIVE_INTERVAL_MS)
  timer.unref()
  response.once('close', () => clearInterval(timer))
}

/** One that has ended may still be on its way to a slow reader, and would throw at every further word. */
function keepAlive(response: ServerResponse): void {
  if (!response.writableEnded) response.write(': still here\n\n')
}

export function writeEvent(response: ServerResponse, message: WireMessage, id?: string): void {
  const head = id === undefined ? 'event: message\ndata: ' : `id: ${id}\nevent: message\ndata: `
  const [text] = message
  // Every write is a chunk of its own on the wire: most events are one text.
  if (message.length === 1 && typeof text === 'string') return void response.write(`${head}${text}\n\n`)
  response.cork()
  response.write(head)
  for (const piece of message) response.write(piece)
  response.write('\n\n')
  response.uncork()
}
