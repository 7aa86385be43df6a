import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { HttpConnection, type HttpConnectionOptions } from './http-connection.ts'

export interface ConnectionTimeouts {
  /** For the first request of a connection, in milliseconds. */
  readonly firstRequestMs: number
  /** For the next one. */
  readonly nextRequestMs: number
  readonly checkIntervalMs: number
}

/** The connections of a server that come before node:http: their whole requests need none of its work. */
export class HttpConnections {
  readonly #open = new Set<HttpConnection>()
  readonly #timeouts: ConnectionTimeouts
  readonly #timer: NodeJS.Timeout

  constructor(server: Server, patience: ConnectionTimeouts, onRequest: HttpConnectionOptions['onRequest']) {
    this.#timeouts = patience
    // Giving node a connection by its own listener is what emitting `connection` is documented for; emitted, it would come back to us.
    const byNode = server.listeners('connection')
    server.removeAllListeners('connection')
    const options: HttpConnectionOptions = {
      onRequest,
      keepAliveSeconds: Math.floor(patience.nextRequestMs / 1_000),
      handOver: (socket) => {
        for (const listener of byNode) listener.call(server, socket)
      },
      onClose: (connection) => this.#open.delete(connection),
    }
    server.on('connection', (socket: Socket) => this.#open.add(new HttpConnection(socket, options)))
    this.#timer = setInterval(() => this.#closeTimedOut(), patience.checkIntervalMs).unref()
  }

  /** Calls under way are answered yet. */
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
      const quietFor = connection.countIdleChecks() * checkIntervalMs
      if (quietFor > (connection.hasReceivedRequest ? nextRequestMs : firstRequestMs)) connection.end()
    }
  }
}
