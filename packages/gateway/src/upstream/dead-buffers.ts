import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

type Collect = (options: { readonly type: 'minor' }) => void

/** A message from here on is one that counts. */
export const LARGE_BYTES = 1_000_000
/** So much may lie about before it is worth a look. */
const WORTH_LOOKING = 8_000_000

/**
 * Frees what is left of large messages. V8 looks for dead buffers by itself once 32 MB of young ones lie about, three
 * times what one such message needs; a look among the young takes about a millisecond, whoever asks for it.
 */
export class DeadBuffers {
  #bytes = 0
  #collect: Collect | undefined

  /** A large message has come in whole: from now on its buffers may die. */
  note(bytes: number): void {
    this.#bytes += bytes
  }

  /** Another one is coming in: those before it have most likely gone, and nothing of it would have to be looked at. */
  free(): void {
    if (this.#bytes < WORTH_LOOKING) return
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
