import type { ServerResponse } from 'node:http'

/** Less than this is not worth an entry. */
const MIN_TRACKED_BYTES = 1_000_000
/** So much may wait for clients to read it, all together. */
const MAX_UNREAD_BYTES = 128_000_000
/** A client that takes nothing at all for so long has stopped reading; one that is slow has not. */
const STALL_TIMEOUT_MS = 30_000

/** Large answers on their way to clients. Whoever asks and does not read must not fill our memory. */
export class Backpressure {
  readonly #maxBytes: number
  /** In the order in which they were sent. */
  readonly #waiting = new Set<ServerResponse>()

  constructor(most = MAX_UNREAD_BYTES) {
    this.#maxBytes = most
  }

  /** Call when an answer has been handed to its connection; a stream may be handed several. */
  watch(response: ServerResponse): void {
    if (response.writableLength < MIN_TRACKED_BYTES || response.destroyed) return
    const isNew = !this.#waiting.delete(response)
    this.#waiting.add(response)
    this.#closeOldest()
    if (!isNew) return
    response.once('close', () => this.#waiting.delete(response))
    // The socket's timer starts anew with every byte that leaves.
    response.setTimeout(STALL_TIMEOUT_MS, () => response.destroy())
  }

  /** Whoever has had the most time to read goes first; the newest always stays, and so does a stream that was read. */
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
