import { randomFillSync } from 'node:crypto'

/** Request ids of our own: whole numbers of 48 random bits, so that no server can answer a call that it was not sent. */
export function createRequestIds(): () => number {
  const pool = createRandomPool()
  return () => pool.bytes.readUIntBE(pool.draw(6), 6)
}

const POOL_BYTES = 8_192

/** Random bytes, drawn in bulk so that a few of them cost next to nothing. */
interface RandomPool {
  readonly bytes: Buffer
  /** The place in `bytes` of so many that nobody else gets; they stay until the next draw. */
  draw(count: number): number
}

function createRandomPool(): RandomPool {
  const bytes = Buffer.alloc(POOL_BYTES)
  let next = POOL_BYTES
  return {
    bytes,
    draw: (count) => {
      if (next + count > POOL_BYTES) {
        randomFillSync(bytes)
        next = 0
      }
      next += count
      return next - count
    },
  }
}
