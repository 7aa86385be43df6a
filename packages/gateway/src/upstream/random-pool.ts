import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 8_192

/** Random bytes, drawn in bulk so that a few of them cost next to nothing. */
export interface RandomPool {
  readonly bytes: Buffer
  /** The place in `bytes` of so many that nobody else gets; they stay until the next draw. */
  draw(count: number): number
}

export function createRandomPool(): RandomPool {
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
