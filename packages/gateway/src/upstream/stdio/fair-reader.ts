import type { Readable } from 'node:stream'

/** How much one stream may do before the others get their turn. */
const TURN_BYTES = 262_144

/**
 * Reads a stream to its end without starving everything else: a peer that writes as fast as we read would otherwise
 * block the event loop. Meanwhile its pipe fills and it has to wait.
 */
export function readFairly(stream: Readable, take: (chunk: Buffer) => number): void {
  let spent = 0
  stream.on('data', (chunk: Buffer) => {
    spent += take(chunk)
    if (spent < TURN_BYTES) return
    spent = 0
    stream.pause()
    setImmediate(() => stream.resume())
  })
}
