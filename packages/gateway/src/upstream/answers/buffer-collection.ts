/** A smaller message leaves nothing behind that would be worth a look. */
const LARGE_BYTES = 1_000_000
/** So much may lie about before it is. */
const MIN_COLLECT_BYTES = 8_000_000

/**
 * What is left of large messages. V8 looks for dead buffers by itself once 32 MB of young ones lie about, on Node 24 and
 * 26 up to 90 MB; a look among the young takes about a millisecond, whoever asks for it. Results of 10 MB, one after the
 * other, so took 30 to 54 MB of memory; now 12 to 16.
 */
export class BufferCollection {
  #bytes = 0

  /** A message has come in: sooner or later its buffers die. */
  add(bytes: number): void {
    if (bytes >= LARGE_BYTES) this.#bytes += bytes
  }

  get isDue(): boolean {
    return this.#bytes >= MIN_COLLECT_BYTES
  }

  /** What is alive still would be looked at in vain, and kept for longer than before. */
  collect(): void {
    this.#bytes = 0
    // There only where the owner of the process exposed it, as the command does: without, V8 frees them later.
    globalThis.gc?.({ type: 'minor' })
  }
}
