import type { Socket } from 'node:net'
import type { ConnectionOpening, HostAndPort } from '@sallyport/core'

/** One connection outward, from the request for it until it is closed. */
export class OutgoingConnection {
  readonly target: HostAndPort
  /** The checked addresses that may be contacted for it; once connected, the one that it leads to. */
  addresses: readonly string[] = []
  /** What the client began with, once judged. */
  opening: ConnectionOpening | undefined
  sent = 0
  received = 0
  /** Why it was ended by us. */
  cutReason: string | undefined
  #isClosed = false
  #upstream: Socket | undefined
  readonly #onClose: (() => void)[] = []

  constructor(target: HostAndPort) {
    this.target = target
  }

  get isConnected(): boolean {
    return this.#upstream !== undefined
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Runs once, synchronously when the connection is closed: at once if it already is. */
  onClose(action: () => void): void {
    if (this.#isClosed) action()
    else this.#onClose.push(action)
  }

  attach(upstream: Socket, address: string): void {
    this.addresses = [address]
    this.#upstream = upstream
    upstream.on('error', () => this.close())
    upstream.once('close', () => this.close())
  }

  /** Ends it, however it is used. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#upstream?.destroy()
    for (const action of this.#onClose.splice(0)) action()
  }

  /** Ends it so that bytes which the operating system has accepted but not sent yet do not leave either. */
  cut(reason: string): void {
    this.cutReason = reason
    const upstream = this.#upstream
    if (upstream !== undefined && canReset(upstream)) upstream.resetAndDestroy()
    this.close()
  }
}

/** Node cannot reset a socket whose end is just being sent. */
const canReset = ({ destroyed, writableEnded, writableFinished }: Socket): boolean =>
  !destroyed && (!writableEnded || writableFinished)
