import { describe, expect, it } from 'vitest'
import { openPairs } from '../event-reader.test-kit.ts'
import { Backpressure } from './backpressure.ts'

/** Far more than the system buffers for a client that does not read. */
const LARGE = Buffer.alloc(30_000_000, 0x20)

async function openAnswers() {
  const pairs = await openPairs()
  const unread = new Backpressure(70_000_000)
  const answer = async () => {
    const { response, reader } = await pairs()
    response.on('error', () => {})
    return { response, reader, send: () => void response.write(LARGE) }
  }
  return { unread, answer }
}

describe('answers that are not read', () => {
  it('are closed for newer ones, the oldest first', async () => {
    const { unread, answer } = await openAnswers()
    const all = [await answer(), await answer(), await answer()]
    for (const { send, response } of all) {
      send()
      unread.watch(response)
    }
    expect(all.map(({ response }) => response.destroyed)).toEqual([true, false, false])
  })

  it('on one stream count once, however many messages it has', async () => {
    const { unread, answer } = await openAnswers()
    const stream = await answer()
    stream.send()
    for (let time = 0; time < 5; time++) unread.watch(stream.response)
    const other = await answer()
    other.send()
    unread.watch(other.response)
    expect([stream.response.destroyed, other.response.destroyed]).toEqual([false, false])
    expect(stream.response.listenerCount('timeout')).toBe(1)
  })
})
