import type { ServerResponse } from 'node:http'
import type { WireMessage } from './wire-message.ts'

/** A client that reads so slowly gets fewer notices instead of our memory. */
const BACKLOG_LIMIT = 1_000_000
const KEEP_ALIVE_EVERY = 25_000

export function beginEventStream(response: ServerResponse, headers: Readonly<Record<string, string>> = {}): void {
  // One that is closed already will not say so again, and the timer would stay.
  if (response.destroyed || response.headersSent) return
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...headers })
  response.flushHeaders()
  const timer = setInterval(() => response.write(': still here\n\n'), KEEP_ALIVE_EVERY)
  timer.unref()
  response.once('close', () => clearInterval(timer))
}

/** Notices may be dropped for a client that does not read; answers never are. */
export function writeEvent(
  response: ServerResponse,
  message: WireMessage,
  weight: 'notice' | 'answer' = 'notice',
): void {
  if (response.destroyed || response.writableEnded) return
  if (weight === 'notice' && response.writableLength > BACKLOG_LIMIT) return
  response.cork()
  response.write('event: message\ndata: ')
  for (const piece of message) response.write(piece)
  response.write('\n\n')
  response.uncork()
}
