import { randomFillSync } from 'node:crypto'

export interface Ids {
  callId(): string
  traceId(): string
}

const POOL_BYTES = 8_192

/** Random identifiers, drawn from a pool so that one costs next to nothing. */
export function createIds(): Ids {
  const pool = Buffer.alloc(POOL_BYTES)
  let at = POOL_BYTES
  const hex = (bytes: number): string => {
    if (at + bytes > POOL_BYTES) {
      randomFillSync(pool)
      at = 0
    }
    at += bytes
    return pool.toString('hex', at - bytes, at)
  }
  return { callId: () => hex(8), traceId: () => hex(16) }
}
