import { createRandomPool } from '../upstream/upstream.ts'

export interface Ids {
  callId(): string
  traceId(): string
}

/** Random identifiers. */
export function createIds(): Ids {
  const pool = createRandomPool()
  const hex = (count: number): string => {
    const at = pool.draw(count)
    return pool.bytes.toString('hex', at, at + count)
  }
  return { callId: () => hex(8), traceId: () => hex(16) }
}
