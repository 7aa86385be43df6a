import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 6 * 512

/** Request ids of our own: whole numbers of 48 random bits, so that no server can answer a call that it was not sent. */
export function createRequestIds(): () => number {
  const pool = Buffer.alloc(POOL_BYTES)
  let at = POOL_BYTES
  return () => {
    if (at === POOL_BYTES) {
      randomFillSync(pool)
      at = 0
    }
    const id = pool.readUIntBE(at, 6)
    at += 6
    return id
  }
}
