import type { ServerResponse } from 'node:http'

/** Smaller responses are not tracked. */
const MIN_TRACKED_BYTES = 1_000_000
/** Limit for the unread bytes of all clients together. */
const MAX_UNREAD_BYTES = 128_000_000
/** A client that reads nothing at all for this long is considered stalled; a slow client is not. */
const STALL_TIMEOUT_MS = 30_000

/** Tracks large answers that clients have not read yet: a client that does not read must not fill our memory. */
export class Backpressure {
  readonly #maxBytes: number
  /** In the order of sending. */
  readonly #waiting = new Set<ServerResponse>()

  constructor(maxBytes = MAX_UNREAD_BYTES) {
    this.#maxBytes = maxBytes
  }

  /** Call this after an answer was written to its connection; for a stream, after each message. */
  watch(response: ServerResponse): void {
    if (response.writableLength < MIN_TRACKED_BYTES || response.destroyed) return
    const isNew = !this.#waiting.delete(response)
    this.#waiting.add(response)
    this.#closeOldest()
    if (!isNew) return
    response.once('close', () => this.#waiting.delete(response))
    // The socket's timer restarts with every byte that leaves.
    response.setTimeout(STALL_TIMEOUT_MS, () => response.destroy())
  }

  /** Closes the oldest unread answers first. The newest always stays, and so does a stream that was read. */
  #closeOldest(): void {
    const unread = [...this.#waiting].filter(({ writableLength }) => writableLength >= MIN_TRACKED_BYTES)
    let bytes = unread.reduce((sum, { writableLength }) => sum + writableLength, 0)
    for (const response of unread.slice(0, -1)) {
      if (bytes <= this.#maxBytes) return
      bytes -= response.writableLength
      response.destroy()
    }
  }
}
