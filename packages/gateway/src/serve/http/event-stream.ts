import type { ServerResponse } from 'node:http'
import type { JsonObject } from '@sallyport/core'
import type { WireMessage } from '../rpc/wire-message.ts'

/** Above this backlog, notices for a slow client are dropped, to save memory. */
export const MAX_STREAM_BACKLOG_BYTES = 1_000_000
const KEEP_ALIVE_INTERVAL_MS = 25_000

/** A notice may be dropped for a client that does not read; a request or an answer never is. */
export type EventKind = 'notice' | 'request' | 'answer'

/** A request waits for the client's answer under its id. */
export const eventKindOf = (message: JsonObject): 'notice' | 'request' =>
  message.id === undefined ? 'notice' : 'request'

/** The notifications of a call, and then its answer. */
export interface EventStream {
  /** The current connection; `undefined` if there is none. */
  readonly connection: ServerResponse | undefined
  /** Returns false if the message will not reach the client. */
  send(message: WireMessage, kind: 'notice' | 'request'): boolean
  /** Ends the stream. */
  finish(answer: WireMessage): void
}

/** A stream that cannot be resumed after its connection closes. */
export function openPlainStream(connection: ServerResponse): EventStream {
  beginEventStream(connection)
  return {
    connection,
    send: (message, kind) => {
      if (connection.destroyed || connection.writableEnded) return false
      const isAccepted = kind === 'request' || connection.writableLength <= MAX_STREAM_BACKLOG_BYTES
      if (isAccepted) writeEvent(connection, message)
      return isAccepted
    },
    finish: (answer) => {
      if (connection.destroyed || connection.writableEnded) return
      writeEvent(connection, answer)
      connection.end()
    },
  }
}

export function beginEventStream(response: ServerResponse, headers: Readonly<Record<string, string>> = {}): void {
  // A response that is already closed emits no other `close`, so the timer would leak.
  if (response.destroyed || response.headersSent) return
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...headers })
  response.flushHeaders()
  const timer = setInterval(() => keepAlive(response), KEEP_ALIVE_INTERVAL_MS)
  timer.unref()
  response.once('close', () => clearInterval(timer))
}

/** After `end`, the response may still be open for a slow reader, and another write would throw. */
function keepAlive(response: ServerResponse): void {
  if (!response.writableEnded) response.write(': still here\n\n')
}

/** A stream with nothing but the answer. */
export const singleEvent = (answer: WireMessage): WireMessage => ['event: message\ndata: ', ...answer, '\n\n']

export function writeEvent(response: ServerResponse, message: WireMessage, id?: string): void {
  const head = id === undefined ? 'event: message\ndata: ' : `id: ${id}\nevent: message\ndata: `
  const [text] = message
  // Every write becomes a separate chunk on the wire; most events are a single string.
  if (message.length === 1 && typeof text === 'string') return void response.write(`${head}${text}\n\n`)
  response.cork()
  response.write(head)
  for (const piece of message) response.write(piece)
  response.write('\n\n')
  response.uncork()
}
