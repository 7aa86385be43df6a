import { afterEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { exposeGc } from '../../cli/serve/expose-gc.ts'
import { Link } from '../link/link.ts'
import type { EncodedRequest, Transport, TransportEvents } from '../transport.ts'
import { FrameReader } from './frame-reader.ts'

const CHUNK = 65_536
const CHUNKS = 40
const CALLS = 40
/** V8 would not look before there are 32 MB of them. */
const MOST_LEFT = 28_000_000

/** Answers everything with two and a half megabytes, each chunk a buffer of its own, as a socket gives them. */
class LavishTransport implements Transport {
  #events: TransportEvents | undefined

  async open(events: TransportEvents): Promise<void> {
    this.#events = events
  }

  request({ id }: EncodedRequest): void {
    const reader = new FrameReader(10_000_000)
    reader.feed(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"text":"`))
    for (let at = 0; at < CHUNKS; at++) reader.feed(Buffer.from(new ArrayBuffer(CHUNK)).fill('x'))
    reader.feed(Buffer.from('"}}'))
    const outcome = reader.finish()
    if (outcome.kind === 'frame') queueMicrotask(() => this.#events?.onFrame(outcome.frame, id))
  }

  abandon(): boolean {
    return true
  }

  send(): void {}
  setProtocolVersion(): void {}
  async close(): Promise<void> {}
}

afterEach(() => {
  globalThis.gc = undefined
})

describe(`what large answers leave behind (${promise('GW-23')})`, () => {
  async function mostLeft(): Promise<number> {
    const events = {
      onNotification: () => {},
      onQuestion: () => {},
      onWarning: () => {},
      onDropped: () => {},
      onClose: () => {},
    }
    const link = new Link(new LavishTransport(), events, { clientInfo: {}, capabilities: {} })
    await link.open()
    const before = process.memoryUsage().arrayBuffers
    let most = 0
    for (let at = 0; at < CALLS; at++) {
      await link.request({ method: 'tools/call', params: {}, timeout: 60_000, maximum: 60_000 })
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }
    await link.close()
    return most
  }

  it('is freed before V8 would do so, in a process whose collector was exposed', async () => {
    exposeGc()
    expect(await mostLeft()).toBeLessThan(MOST_LEFT)
  })

  it('is left to V8 in any other, which gets no collector by it', async () => {
    await mostLeft()
    expect(globalThis.gc).toBeUndefined()
  })
})
