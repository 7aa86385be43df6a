import { once } from 'node:events'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { openPairs } from '../event-reader.test-kit.ts'
import { notificationMessage, resultMessage } from '../rpc/wire-message.ts'
import { openPlainStream } from './event-stream.ts'

afterEach(() => void vi.useRealTimers())

const large = 'x'.repeat(20_000_000)

describe('an event stream', () => {
  it('is kept alive while there is no message', async () => {
    const pairs = await openPairs()
    const { response, reader } = await pairs()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    openPlainStream(response)
    vi.advanceTimersByTime(25_000)
    await reader.sees(': still here')
  })

  it('gets no more keep-alives after its end, even if the client is still reading', async () => {
    const pairs = await openPairs()
    const { response, reader } = await pairs()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    openPlainStream(response).finish(resultMessage(1, { large }))
    const failed = vi.fn()
    response.on('error', failed)
    vi.advanceTimersByTime(60_000)
    await reader.ends()
    expect(failed).not.toHaveBeenCalled()
  })

  it('drops notices for a client that does not read, but no requests', async () => {
    const pairs = await openPairs()
    const { response, reader } = await pairs()
    const stream = openPlainStream(response)
    stream.send(notificationMessage({ method: 'notice', params: { large } }), 'notice')
    stream.send(notificationMessage({ method: 'dropped' }), 'notice')
    stream.send(notificationMessage({ method: 'asked', id: 7 }), 'request')
    stream.finish(resultMessage(1, {}))
    const text = await reader.ends()
    expect(text).not.toContain('dropped')
    expect(text).toMatch(/"asked","id":7}\n\n.*\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n$/)
  })

  it('accepts no more messages after its connection has closed', async () => {
    const pairs = await openPairs()
    const { response } = await pairs()
    const stream = openPlainStream(response)
    const closed = once(response, 'close')
    response.destroy()
    await closed
    stream.send(notificationMessage({ method: 'late' }), 'request')
    stream.finish(resultMessage(1, {}))
    expect(response.writableEnded).toBe(false)
  })
})
