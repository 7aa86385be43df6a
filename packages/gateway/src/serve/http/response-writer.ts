import type { ServerResponse } from 'node:http'
import type { Reply } from '../rpc/client-request.ts'

/** The message itself, or a stream with it as the only event. */
export type AnswerType = 'application/json' | 'text/event-stream'

/** Writes the answer to an HTTP request: one complete message, or anything else through a response of node:http. */
export interface ResponseWriter {
  /** The client's address. */
  readonly address: string | undefined
  /** The connection is closed. */
  readonly isDisconnected: boolean
  /** The answer has begun, or the client is gone: nothing more can be sent. */
  readonly isSpent: boolean
  /** The response of node:http, if the answer uses one. */
  readonly response: ServerResponse | undefined
  /** Does nothing if `isSpent`. */
  send(reply: Reply, headers?: Readonly<Record<string, string>>, type?: AnswerType): void
  /** For answers that are not one complete message: a stream, or only a status. */
  open(): ServerResponse
  /** Calls back if the client disconnects before the answer is complete; immediately if it already has. */
  onDisconnect(callback: () => void): void
}
