import { SallyportError } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createServerHandler, MemoryTransport } from './memory-transport.test-kit.ts'
import { TestPermit } from './permit.test-kit.ts'
import { bench, controlTimers, scripted, settle, silent } from './server-connection.test-kit.ts'
import type { ServerConnectionOptions } from './server-connection.ts'

controlTimers()

/** The first connection, as soon as it is opened. */
async function started(at: (index: number) => MemoryTransport): Promise<MemoryTransport> {
  await settle()
  return at(0)
}

describe(`a process that reaches too much (${promise('SEN-8')})`, () => {
  const holding = () => new MemoryTransport({ serve: createServerHandler({ answers: { 'tools/call': () => {} } }) })

  it('answers what it has got beside its successor, which gets everything else', async () => {
    const { upstream, at, opened, call } = bench({ transports: [holding, scripted()] })
    const sent = call()
    const { id } = await (await started(at)).waitForMessage('tools/call')
    let allow = (_: undefined): void => {}
    const permit = new TestPermit().becomeStale(new Promise((resolve) => (allow = resolve)))
    const unsent = call({ permit, params: { arguments: { second: true } } })
    await settle()
    at(0).becomeTooWide()
    const later = call()
    expect((await later).era).toBe('legacy')
    expect(opened.map(({ closed }) => closed)).toEqual([0, 0])
    allow(undefined)
    await unsent
    expect(at(0).received.filter(({ method }) => method === 'tools/call')).toHaveLength(1)
    expect(at(1).received.filter(({ method }) => method === 'tools/call')).toHaveLength(2)
    at(0).answer(id)
    await sent
    await settle()
    expect(opened.map(({ closed }) => closed)).toEqual([1, 0])
    await upstream.close()
  })

  it('fails what it has got if it ends before, with an error that says that it may be repeated', async () => {
    const { upstream, at, call } = bench({ transports: [holding, scripted()] })
    const lost = call().catch((error: unknown) => error)
    await (await started(at)).waitForMessage('tools/call')
    at(0).becomeTooWide()
    at(0).die('was ended')
    expect(await lost).toMatchObject({ code: 'UPSTREAM_NARROWED', kind: { retryable: true } })
    await call()
    await upstream.close()
  })

  it('is followed by another one when it has ended, if that could not start beside it', async () => {
    const dying = () =>
      new MemoryTransport({ open: () => Promise.reject(new SallyportError('UPSTREAM_DIED', 'Taken.')) })
    const { upstream, at, opened, events, call } = bench({ transports: [holding, dying, scripted()] })
    const sent = call()
    const { id } = await (await started(at)).waitForMessage('tools/call')
    at(0).becomeTooWide()
    const later = call()
    await settle()
    expect(opened).toHaveLength(2)
    at(0).answer(id)
    await sent
    await later
    expect(opened.map(({ closed }) => closed)).toEqual([1, 1, 0])
    expect(events.map(({ type }) => type)).not.toContain('UPSTREAM_LOST')
    await upstream.close()
  })

  it('is replaced while it starts, too, and stays away if its entry refuses a sandbox', async () => {
    const { upstream, at, opened, call } = bench({ transports: [silent, scripted()] })
    const waiting = call()
    await at(0).waitForMessage('initialize')
    at(0).becomeTooWide()
    await waiting
    expect(opened.map(({ closed }) => closed)).toEqual([1, 0])
    await upstream.close()
    const config = { ...upstream.config, sandbox: { driver: 'none', network: 'host', mounts: [] } }
    const other = bench({ options: { config: config as ServerConnectionOptions['config'] } })
    await other.call()
    other.at(0).becomeTooWide()
    await settle()
    expect(other.upstream.status()).toMatchObject({ state: 'stopped', reason: expect.stringContaining('private data') })
    expect(other.opened.map(({ closed }) => closed)).toEqual([1])
    await other.upstream.close()
  })
})
