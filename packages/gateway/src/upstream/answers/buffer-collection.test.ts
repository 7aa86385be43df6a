import { afterEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { exposeGc } from '../../cli/serve/expose-gc.ts'
import { Link } from '../link/link.ts'
import type { EncodedRequest, Transport, TransportEvents } from '../transport.ts'
import { FrameReader } from './frame-reader.ts'

const CHUNK = 65_536
const CHUNKS = 40
const CALLS = 40
/** V8 would not collect them below 32 MB. */
const MAX_LEFT_BYTES = 28_000_000

/** Answers everything with two and a half megabytes, each chunk in its own buffer, as from a socket. */
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

describe(`the memory of large answers (${promise('GW-23')})`, () => {
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
    let peak = 0
    for (let at = 0; at < CALLS; at++) {
      await link.request({ method: 'tools/call', params: {}, timeout: 60_000, maximum: 60_000 })
      peak = Math.max(peak, process.memoryUsage().arrayBuffers - before)
    }
    await link.close()
    return peak
  }

  it('is freed earlier than V8 would, in a process with an exposed garbage collector', async () => {
    exposeGc()
    expect(await mostLeft()).toBeLessThan(MAX_LEFT_BYTES)
  })

  it('is left to V8 in any other process, in which the collector stays hidden', async () => {
    await mostLeft()
    expect(globalThis.gc).toBeUndefined()
  })
})
