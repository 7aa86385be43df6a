import type { ServerResponse } from 'node:http'

/** Less than this is not worth an entry. */
const SMALL = 1_000_000
/** So much may wait for clients to read it, all together. */
const MOST = 128_000_000
/** A client that takes nothing at all for so long has stopped reading; one that is slow has not. */
const STALL = 30_000

/** Large answers on their way to clients. Whoever asks and does not read must not fill our memory. */
export class UnreadAnswers {
  /** In the order in which they were sent. */
  readonly #waiting = new Map<ServerResponse, number>()
  #bytes = 0

  /** Call when an answer has been handed to its connection. */
  watch(response: ServerResponse): void {
    const bytes = response.writableLength
    if (bytes < SMALL || response.destroyed) return
    this.#waiting.set(response, bytes)
    this.#bytes += bytes
    response.once('close', () => this.#forget(response))
    // The socket's timer starts anew with every byte that leaves.
    response.setTimeout(STALL, () => response.destroy())
    this.#makeRoom()
  }

  /** Whoever has had the most time to read goes first; the newest always stays. */
  #makeRoom(): void {
    for (const response of [...this.#waiting.keys()].slice(0, -1)) {
      if (this.#bytes <= MOST) return
      this.#forget(response)
      response.destroy()
    }
  }

  #forget(response: ServerResponse): void {
    this.#bytes -= this.#waiting.get(response) ?? 0
    this.#waiting.delete(response)
  }
}
