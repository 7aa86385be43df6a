import type { ServerResponse } from 'node:http'

/** Less than this is not worth an entry. */
const SMALL = 1_000_000
/** So much may wait for clients to read it, all together. */
const MOST = 128_000_000
/** A client that takes nothing at all for so long has stopped reading; one that is slow has not. */
const STALL = 30_000

/** Large answers on their way to clients. Whoever asks and does not read must not fill our memory. */
export class UnreadAnswers {
  readonly #most: number
  /** In the order in which they were sent. */
  readonly #waiting = new Set<ServerResponse>()

  constructor(most = MOST) {
    this.#most = most
  }

  /** Call when an answer has been handed to its connection; a stream may be handed several. */
  watch(response: ServerResponse): void {
    if (response.writableLength < SMALL || response.destroyed) return
    const isNew = !this.#waiting.delete(response)
    this.#waiting.add(response)
    this.#makeRoom()
    if (!isNew) return
    response.once('close', () => this.#waiting.delete(response))
    // The socket's timer starts anew with every byte that leaves.
    response.setTimeout(STALL, () => response.destroy())
  }

  /** Whoever has had the most time to read goes first; the newest always stays, and so does a stream that was read. */
  #makeRoom(): void {
    const unread = [...this.#waiting].filter(({ writableLength }) => writableLength >= SMALL)
    let bytes = unread.reduce((sum, { writableLength }) => sum + writableLength, 0)
    for (const response of unread.slice(0, -1)) {
      if (bytes <= this.#most) return
      bytes -= response.writableLength
      response.destroy()
    }
  }
}
