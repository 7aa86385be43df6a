import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type Collect = (options: { readonly type: 'minor' }) => void

/** A smaller message leaves nothing behind that would be worth a look. */
const LARGE_BYTES = 1_000_000
/** So much may lie about before it is. */
const MANY_BYTES = 8_000_000

/**
 * What is left of large messages. V8 looks for dead buffers by itself once 32 MB of young ones lie about, three times
 * what one such message needs; a look among the young takes about a millisecond, whoever asks for it.
 */
export class DeadBuffers {
  #bytes = 0
  #collect: Collect | undefined

  /** A message has come in: sooner or later its buffers die. */
  note(bytes: number): void {
    if (bytes >= LARGE_BYTES) this.#bytes += bytes
  }

  get areMany(): boolean {
    return this.#bytes >= MANY_BYTES
  }

  /** What is alive still would be looked at in vain, and kept for longer than before. */
  free(): void {
    this.#bytes = 0
    this.#collect ??= openCollect()
    this.#collect({ type: 'minor' })
  }
}

/** V8 gives its collector only to contexts that are made while the flag stands. */
function openCollect(): Collect {
  if (typeof globalThis.gc === 'function') return globalThis.gc
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('globalThis.gc')
  setFlagsFromString('--no-expose-gc')
  // Without it all is as it would be: memory is freed later.
  return typeof collect === 'function' ? (collect as Collect) : () => {}
}
