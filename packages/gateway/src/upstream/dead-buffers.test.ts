import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { FrameReader } from './frame-reader.ts'

const CHUNK = 65_536
const CHUNKS = 80
const MESSAGES = 30

/** Each chunk is a buffer of its own, as a socket gives them. */
function receive(reader: FrameReader): void {
  reader.feed(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"text":"'))
  for (let at = 0; at < CHUNKS; at++) reader.feed(Buffer.from(new ArrayBuffer(CHUNK)).fill('x'))
  reader.feed(Buffer.from('"}}'))
  expect(reader.finish().kind).toBe('frame')
}

describe(`what large messages leave behind (${promise('GW-23')})`, () => {
  it('is freed before it has piled up to several of them', () => {
    const reader = new FrameReader(10_000_000)
    const before = process.memoryUsage().arrayBuffers
    let most = 0
    for (let at = 0; at < MESSAGES; at++) {
      receive(reader)
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }
    expect(most).toBeLessThan(5 * CHUNKS * CHUNK)
  })
})
