import { createRandomPool } from './random-pool.ts'

/** Request ids of our own: whole numbers of 48 random bits, so that no server can answer a call that it was not sent. */
export function createRequestIds(): () => number {
  const pool = createRandomPool()
  return () => pool.bytes.readUIntBE(pool.draw(6), 6)
}
