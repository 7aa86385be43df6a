import type { Socket } from 'node:net'
import { ClientConnection, type ClientConnectionOwner, type ConnectionRequest } from './client-connection.ts'
import { closedByGateway } from './connection-failure.ts'

export interface ConnectionPoolOptions {
  readonly connect: () => Socket
  /** Events of its sockets. */
  readonly connected: 'connect' | 'secureConnect'
  readonly maxConnections: number
}

const CHECK_INTERVAL_MS = 1_000

/** The connections to one origin. A request takes the most recently used one, or a new one, or waits. */
export class ConnectionPool implements ClientConnectionOwner {
  readonly #options: ConnectionPoolOptions
  readonly #all = new Set<ClientConnection>()
  readonly #free: ClientConnection[] = []
  /** Connections that have just answered. */
  #resting: ClientConnection[] = []
  readonly #waiting = new Set<ConnectionRequest>()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: ConnectionPoolOptions) {
    this.#options = options
  }

  send(sending: ConnectionRequest): void {
    if (this.#isClosed) return queueMicrotask(() => sending.onFailure(closedByGateway(), 'unsent'))
    const connection = this.#take()
    if (connection) connection.send(sending)
    else this.#waiting.add(sending)
  }

  /** Waiting listeners get no further events. */
  cancel(sending: ConnectionRequest): void {
    this.#waiting.delete(sending)
    sending.connection?.destroy()
  }

  /** Waiting listeners get an error. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const connection of [...this.#all]) connection.close()
    for (const sending of waiting) sending.onFailure(closedByGateway(), 'unsent')
  }

  /**
   * It rests for one turn of the event loop: a server may close it right after its answer without notice, which would
   * fail the next request.
   */
  onFree(connection: ClientConnection): void {
    this.#resting.push(connection)
    if (this.#resting.length === 1) setImmediate(() => this.#releaseRested())
  }

  /** A waiting request gets a new connection. */
  onClosed(connection: ClientConnection): void {
    this.#all.delete(connection)
    const at = this.#free.indexOf(connection)
    if (at >= 0) this.#free.splice(at, 1)
    if (!this.#isClosed) this.#admitNext()
  }

  #take(): ClientConnection | undefined {
    const now = performance.now()
    for (let last = this.#free.pop(); last; last = this.#free.pop()) {
      if (last.isUsable(now)) return last
      last.destroy()
    }
    return this.#all.size < this.#options.maxConnections ? this.#open() : undefined
  }

  #releaseRested(): void {
    const rested = this.#resting
    this.#resting = []
    const offer = () => {
      for (const connection of rested) this.#assign(connection)
    }
    // A close is read in the next turn; before that, only requests that already wait would use the connection.
    if (this.#waiting.size > 0) setImmediate(offer)
    else offer()
  }

  #assign(connection: ClientConnection): void {
    if (!connection.isUsable(performance.now())) return connection.destroy()
    if (this.#waiting.size > 0) return this.#admitNext(connection)
    this.#free.push(connection)
    this.#scheduleCheck()
  }

  #open(): ClientConnection {
    const { connect, connected } = this.#options
    const connection = new ClientConnection(connect(), this, connected)
    this.#all.add(connection)
    return connection
  }

  #admitNext(connection?: ClientConnection): void {
    const [next] = this.#waiting
    if (next === undefined) return
    this.#waiting.delete(next)
    if (connection) connection.send(next)
    else this.send(next)
  }

  #scheduleCheck(): void {
    this.#timer ??= setTimeout(() => this.#closeStale(), CHECK_INTERVAL_MS).unref()
  }

  #closeStale(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const connection of [...this.#free]) if (!connection.isUsable(now)) connection.destroy()
    if (this.#free.length > 0) this.#scheduleCheck()
  }
}
