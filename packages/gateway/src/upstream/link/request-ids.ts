import { randomFillSync } from 'node:crypto'

/** Our own request ids: integers of 48 random bits, so that no server can answer a call that it did not receive. */
export function createRequestIds(): () => number {
  const pool = createRandomPool()
  return () => pool.bytes.readUIntBE(pool.draw(6), 6)
}

const POOL_BYTES = 8_192

/** Random bytes, generated in bulk so that a few of them cost almost nothing. */
interface RandomPool {
  readonly bytes: Buffer
  /** The offset in `bytes` of bytes for this caller alone; they are valid until the next draw. */
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
