import type { ServerResponse } from 'node:http'
import type { Reply } from '../rpc/client-request.ts'

/** The way back to whoever made a request over HTTP: one whole message, or whatever node's own response can say. */
export interface ResponseWriter {
  /** Where the request came from. */
  readonly address: string | undefined
  /** The connection is not there any more. */
  readonly isDisconnected: boolean
  /** It has been begun, or nobody is left to take it. */
  readonly isSpent: boolean
  /** What the answer goes over, where that is a response of node's. */
  readonly response: ServerResponse | undefined
  /** Nothing happens where it is spent. */
  send(reply: Reply, headers?: Readonly<Record<string, string>>): void
  /** For all that is no whole message: a stream, a status alone. */
  open(): ServerResponse
  /** Calls back when the client leaves before the answer is whole; at once where it has left already. */
  onDisconnect(told: () => void): void
}
