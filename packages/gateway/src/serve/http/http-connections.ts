import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { HttpConnection, type HttpConnectionOptions } from './http-connection.ts'

export interface ConnectionTimeouts {
  /** Time for the first request of a connection, in milliseconds. */
  readonly firstRequestMs: number
  /** Time for each further request. */
  readonly nextRequestMs: number
  readonly checkIntervalMs: number
}

/** Connections that are served before node:http: requests that arrive in one piece do not need its work. */
export class HttpConnections {
  readonly #open = new Set<HttpConnection>()
  readonly #timeouts: ConnectionTimeouts
  readonly #timer: NodeJS.Timeout

  constructor(server: Server, timeouts: ConnectionTimeouts, onRequest: HttpConnectionOptions['onRequest']) {
    this.#timeouts = timeouts
    // The documented way to give node:http a connection is to emit `connection`. That would call us again, so we call its own listeners.
    const byNode = server.listeners('connection')
    server.removeAllListeners('connection')
    const options: HttpConnectionOptions = {
      onRequest,
      keepAliveSeconds: Math.floor(timeouts.nextRequestMs / 1_000),
      handOver: (socket) => {
        for (const listener of byNode) listener.call(server, socket)
      },
      onClose: (connection) => this.#open.delete(connection),
    }
    server.on('connection', (socket: Socket) => this.#open.add(new HttpConnection(socket, options)))
    this.#timer = setInterval(() => this.#closeTimedOut(), timeouts.checkIntervalMs).unref()
  }

  /** In-flight calls still get their answers. */
  closeIdle(): void {
    clearInterval(this.#timer)
    for (const connection of [...this.#open]) if (connection.isIdle) connection.end()
  }

  closeAll(): void {
    for (const connection of [...this.#open]) connection.destroy()
  }

  #closeTimedOut(): void {
    const { firstRequestMs, nextRequestMs, checkIntervalMs } = this.#timeouts
    for (const connection of [...this.#open]) {
      const idleMs = connection.countIdleChecks() * checkIntervalMs
      if (idleMs > (connection.hasReceivedRequest ? nextRequestMs : firstRequestMs)) connection.end()
    }
  }
}
