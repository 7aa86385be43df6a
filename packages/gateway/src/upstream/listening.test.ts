import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Opening } from './handshake.ts'
import { Link } from './link.ts'
import { listenForChanges } from './list-changes.ts'
import { MemoryTransport } from './memory-transport.test-kit.ts'

async function listening(capabilities: Opening['capabilities']) {
  const transport = new MemoryTransport()
  const link = new Link(
    transport,
    { onNotification: () => {}, onAsked: () => {}, onTrouble: () => {}, onClose: () => {} },
    { clientInfo: {}, capabilities: {} },
  )
  await link.open()
  const current = { is: true }
  const opening: Opening = { era: 'modern', protocolVersion: '', capabilities, serverInfo: {}, instructions: undefined }
  listenForChanges(link, opening, () => current.is)
  const close = async (): Promise<void> => {
    current.is = false
    await link.close()
    await vi.advanceTimersByTimeAsync(10_000)
  }
  return { transport, link, current, close }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

describe('listening for changes', () => {
  it('asks for what the server has, and is no call under way', async () => {
    const { transport, link, close } = await listening({ tools: {}, prompts: {}, logging: {} })
    expect(transport.heard).toMatchObject([
      {
        method: 'subscriptions/listen',
        params: { notifications: { toolsListChanged: true, promptsListChanged: true } },
      },
    ])
    expect(link.inFlight).toBe(0)
    await close()
  })

  it('asks nothing of a server that has nothing that could change', async () => {
    const { transport, close } = await listening({ completions: {} })
    expect(transport.heard).toEqual([])
    await close()
  })

  it('begins again a while after the server ended it', async () => {
    const { transport, close } = await listening({ tools: {} })
    transport.answer(transport.requests[0]?.id)
    await vi.advanceTimersByTimeAsync(4_999)
    expect(transport.heard).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(transport.heard).toHaveLength(2)
    await close()
  })

  it('does not insist where the server refuses it', async () => {
    const { transport, close } = await listening({ tools: {} })
    transport.refuse(transport.requests[0]?.id)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(transport.heard).toHaveLength(1)
    await close()
  })

  it('does not begin again on a link that is no longer the current one', async () => {
    const { transport, current, close } = await listening({ tools: {} })
    transport.answer(transport.requests[0]?.id)
    await vi.advanceTimersByTimeAsync(1_000)
    current.is = false
    await vi.advanceTimersByTimeAsync(10_000)
    expect(transport.heard).toHaveLength(1)
    await close()
  })
})
