import { randomBytes } from 'node:crypto'

export interface Ids {
  callId(): string
  traceId(): string
}

const POOL_BYTES = 4_096

/** Random identifiers. Many are drawn and printed at once: by itself each would cost a call as much as its decision. */
export function createIds(): Ids {
  let digits = ''
  let next = 0
  const draw = (count: number): string => {
    if (next + count > digits.length) {
      digits = randomBytes(POOL_BYTES).toString('hex')
      next = 0
    }
    next += count
    return digits.slice(next - count, next)
  }
  return { callId: () => draw(16), traceId: () => draw(32) }
}
