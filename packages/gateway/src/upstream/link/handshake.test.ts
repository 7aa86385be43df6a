import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { codeOf, createServerHandler, MemoryTransport, type ReceivedMessage } from '../memory-transport.test-kit.ts'
import { type HandshakeOptions, performHandshake } from './handshake.ts'
import { Link } from './link.ts'

async function openLink(serve: (message: ReceivedMessage, server: MemoryTransport) => void) {
  const transport = new MemoryTransport({ serve })
  const link = new Link(
    transport,
    { onNotification: () => {}, onQuestion: () => {}, onWarning: () => {}, onDropped: () => {}, onClose: () => {} },
    { clientInfo: { name: 'test' }, capabilities: {} },
  )
  await link.open()
  const shake = (era: HandshakeOptions['era']) =>
    performHandshake(link, { era, timeout: 10_000 }).finally(() => link.close())
  const methods = (): readonly unknown[] => transport.received.map(({ method }) => method)
  return { transport, shake, methods }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

describe('the handshake', () => {
  it('initializes a legacy server and notifies it', async () => {
    const { transport, shake, methods } = await openLink(createServerHandler({ capabilities: { tools: {} } }))
    expect(await shake('legacy')).toEqual({
      era: 'legacy',
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'memory', version: '1' },
      instructions: undefined,
    })
    expect(methods()).toEqual(['initialize', 'notifications/initialized'])
    expect(transport.versions).toEqual(['2025-11-25'])
  })

  it('discovers a modern server with a modern request', async () => {
    const { transport, shake, methods } = await openLink(createServerHandler({ era: 'modern' }))
    expect(await shake('auto')).toMatchObject({ era: 'modern', protocolVersion: '2026-07-28' })
    expect(methods()).toEqual(['server/discover'])
    expect(transport.received[0]?.params?._meta).toMatchObject({
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    })
  })

  it('falls back to initialize if discovery is refused or not answered', async () => {
    const refused = await openLink(createServerHandler())
    expect(await refused.shake('auto')).toMatchObject({ era: 'legacy' })
    const ignored = await openLink(createServerHandler({ answers: { 'server/discover': () => {} } }))
    const shaking = ignored.shake('auto')
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await shaking).toMatchObject({ era: 'legacy' })
  })

  it('tries discovery a second time if the first attempt came too early', async () => {
    let asked = 0
    const answers = {
      'server/discover': ({ id }: ReceivedMessage, server: MemoryTransport) =>
        ++asked === 1 ? undefined : server.answer(id, { supportedVersions: ['2026-07-28'], capabilities: {} }),
    }
    const { shake } = await openLink(createServerHandler({ era: 'modern', answers }))
    const shaking = shake('auto')
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await shaking).toMatchObject({ era: 'modern' })
  })

  it('retries once if the refusal of its version names that very version', async () => {
    const error = { code: -32_022, message: 'not this one', data: { supported: ['2026-07-28'] } }
    const refuse = ({ id }: ReceivedMessage, server: MemoryTransport): void =>
      server.emit({ jsonrpc: '2.0', id, error })
    let asked = 0
    const once = {
      'server/discover': (message: ReceivedMessage, server: MemoryTransport) =>
        ++asked === 1
          ? refuse(message, server)
          : server.answer(message.id, { supportedVersions: ['2026-07-28'], capabilities: {} }),
    }
    const { shake, methods } = await openLink(createServerHandler({ era: 'modern', answers: once }))
    expect(await shake('auto')).toMatchObject({ era: 'modern' })
    expect(methods()).toEqual(['server/discover', 'server/discover'])
    const never = await openLink(createServerHandler({ answers: { 'server/discover': refuse } }))
    expect(await never.shake('auto')).toMatchObject({ era: 'legacy' })
  })

  it('reports the refusal of initialize if nothing helps', async () => {
    const { shake } = await openLink(
      (message, server) => void (message.id && server.refuse(message.id, -32_000, 'go away')),
    )
    await expect(shake('auto')).rejects.toThrow('The server refused initialize: go away (-32000).')
  })

  it('does not continue with a server that is gone', async () => {
    const { shake, methods } = await openLink((_, server) => server.die())
    expect(await codeOf(shake('auto'))).toBe('UPSTREAM_DIED')
    expect(methods()).toEqual(['server/discover'])
  })

  it('refuses versions that it does not know', async () => {
    for (const protocolVersion of ['1999-01-01', 7, undefined, { toString: 1 }]) {
      const answers = {
        initialize: ({ id }: ReceivedMessage, server: MemoryTransport) => server.answer(id, { protocolVersion }),
      }
      const { shake } = await openLink(createServerHandler({ answers }))
      expect(await codeOf(shake('legacy'))).toBe('UPSTREAM_PROTOCOL')
    }
    for (const supportedVersions of [['2030-01-01'], [], 'all', [{ toString: 1, valueOf: 1 }], undefined]) {
      const answers = {
        'server/discover': ({ id }: ReceivedMessage, server: MemoryTransport) =>
          server.answer(id, { supportedVersions }),
      }
      const { shake } = await openLink(createServerHandler({ answers }))
      expect(await codeOf(shake('modern'))).toBe('UPSTREAM_PROTOCOL')
    }
  })

  it('shortens and sanitizes the text of a server', async () => {
    for (const message of ['x'.repeat(100_000), '\u001b[2J\nforged', { toString: 1, valueOf: 1 }, null]) {
      const { shake } = await openLink((one, server) => server.refuse(one.id, -1, message))
      const error = await shake('legacy').catch((refusal: Error) => refusal)
      expect(error).toBeInstanceOf(Error)
      expect((error as Error).message).toMatch(/^The server refused initialize: [^\p{Cc}]{1,320} \(-1\)\.$/u)
    }
  })

  it('treats values of the wrong type as missing', async () => {
    const odd = { protocolVersion: '2024-11-05', capabilities: [], serverInfo: 'me', instructions: 5 }
    const answers = { initialize: ({ id }: ReceivedMessage, server: MemoryTransport) => server.answer(id, odd) }
    const { shake } = await openLink(createServerHandler({ answers }))
    expect(await shake('legacy')).toMatchObject({ capabilities: {}, serverInfo: {}, instructions: undefined })
  })
})
