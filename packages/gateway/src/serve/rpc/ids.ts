import { randomBytes } from 'node:crypto'

export interface Ids {
  callId(): string
  traceId(): string
}

const POOL_BYTES = 4_096

/** Random ids. Many are generated at once: generating each id separately would cost as much as the decision about a call. */
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
