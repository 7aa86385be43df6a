import type { SallyportError } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { lockedDown, TestPermit } from './permit.test-kit.ts'
import {
  ask,
  openInProcessTransport,
  openSseTransport,
  openStdioTransport,
  openStreamableTransport,
  type TestTransport,
} from './permitted-transports.test-kit.ts'

const TRANSPORTS: readonly {
  readonly name: string
  readonly open: () => Promise<TestTransport>
  readonly waits: readonly string[]
}[] = [
  { name: 'stdio', open: openStdioTransport, waits: ['for a full pipe'] },
  {
    name: 'Streamable HTTP',
    open: openStreamableTransport,
    waits: ['for its connection to be made', 'while all connections are in use', 'for the end of the handshake'],
  },
  {
    name: 'HTTP with SSE',
    open: openSseTransport,
    waits: ['for its connection to be made', 'while all connections are in use'],
  },
  // Nothing waits on the way to a server in this process.
  { name: 'in process', open: openInProcessTransport, waits: [] },
]

function deferred(): { readonly outcome: Promise<SallyportError | undefined>; settle(refusal?: SallyportError): void } {
  let settle: (refusal?: SallyportError) => void = () => {}
  const outcome = new Promise<SallyportError | undefined>((resolve) => {
    settle = resolve
  })
  return { outcome, settle: (refusal) => settle(refusal) }
}

/** The calls that have reached the server, once a further call has returned. */
async function reachedIn(setup: TestTransport): Promise<readonly string[]> {
  await setup.events.answer(ask(setup, 'after'))
  return (await setup.reached()).filter((name) => name !== 'after')
}

/** A call that was given to a transport while its permit must be renewed. */
async function renewing(setup: TestTransport) {
  const { outcome, settle } = deferred()
  const permit = new TestPermit().becomeStale(outcome)
  const id = ask(setup, 'late', { permit })
  while (permit.timesRenewed === 0) await new Promise(setImmediate)
  return { id, permit, settle }
}

describe.each(TRANSPORTS)(`a call over $name (${promise('GOV-13')})`, ({ open, waits }) => {
  it('is sent immediately if its permit is valid', async () => {
    const setup = await open()
    const permit = new TestPermit()
    await setup.events.answer(ask(setup, 'first', { permit }))
    expect([permit.timesSent, permit.timesRenewed, await reachedIn(setup)]).toEqual([1, 0, ['first']])
  })

  it('is sent once after its permit is renewed, and needs a valid one again', async () => {
    const setup = await open()
    const { id, permit, settle } = await renewing(setup)
    // A change between the renewal and the next turn matters too.
    const again = deferred()
    queueMicrotask(() => queueMicrotask(() => permit.becomeStale(again.outcome)))
    settle()
    while (permit.timesRenewed === 1) await new Promise(setImmediate)
    again.settle()
    await setup.events.answer(id)
    expect([permit.timesSent, permit.timesRenewed, await reachedIn(setup)]).toEqual([1, 2, ['late']])
  })

  it('does not reach the server if its permit is no longer given, and fails with the reason', async () => {
    const setup = await open()
    const { id, permit, settle } = await renewing(setup)
    settle(lockedDown())
    expect(await setup.events.failure(id)).toMatchObject({ code: 'MODE_FORBIDS' })
    expect([permit.timesSent, await reachedIn(setup)]).toEqual([0, []])
    expect(setup.events.failures).toHaveLength(1)
  })

  it('fails and is not sent if the recheck throws', async () => {
    const setup = await open()
    const permit = new TestPermit()
    permit.becomeStale()
    permit.renew = () => Promise.reject(new TypeError('a bug'))
    expect(await setup.events.failure(ask(setup, 'late', { permit }))).toMatchObject({ code: 'INTERNAL' })
    expect([permit.timesSent, await reachedIn(setup)]).toEqual([0, []])
  })

  it('is never sent once it is abandoned while its permit is renewed', async () => {
    const setup = await open()
    const { id, permit, settle } = await renewing(setup)
    setup.transport.abandon(id)
    settle()
    expect([await reachedIn(setup), permit.timesSent, setup.events.failures]).toEqual([[], 0, []])
  })

  it('is never sent once the connection is closed while its permit is renewed', async () => {
    const setup = await open()
    const { permit, settle } = await renewing(setup)
    const closed = setup.transport.close()
    settle()
    await closed
    expect([permit.timesSent, setup.events.failures]).toEqual([0, []])
  })

  it('opens nothing if its session is first seen after the close', async () => {
    const setup = await open()
    const { outcome, settle } = deferred()
    const permit = new TestPermit().becomeStale(outcome)
    ask(setup, 'late', { permit, session: 'ann\nwork' })
    const closed = setup.transport.close()
    settle()
    await closed
    expect(permit.timesSent).toBe(0)
  })

  if (waits.length > 0)
    it.each(waits)('is refused if its permit becomes stale while it waits %s', async (wait) => {
      const setup = await open()
      const release = await setup.waits[wait]?.()
      const permits = Array.from({ length: 20 }, () => new TestPermit())
      const ids = permits.map((permit) => ask(setup, 'late', { permit }))
      const pending = ask(setup, 'first')
      for (const permit of permits) permit.becomeStale()
      release?.()
      for (const id of ids) expect(await setup.events.failure(id)).toMatchObject({ code: 'MODE_FORBIDS' })
      await setup.events.answer(pending)
      expect(await reachedIn(setup)).toEqual(['first'])
      expect(permits.every(({ timesSent }) => timesSent === 0)).toBe(true)
    })

  if (waits.length > 0)
    it.each(waits)(`is written as it is at that moment if it waits %s (${promise('SEN-19')})`, async (wait) => {
      const setup = await open()
      const release = await setup.waits[wait]?.()
      let name = 'public'
      const id = ask(setup, name, { currentName: () => name })
      name = 'a much longer private'
      release?.()
      await setup.events.answer(id)
      expect(await reachedIn(setup)).toEqual([name])
    })

  if (waits.length > 0)
    it.each(waits)('is not sent if it is abandoned while it waits %s', async (wait) => {
      const setup = await open()
      const release = await setup.waits[wait]?.()
      const permit = new TestPermit()
      setup.transport.abandon(ask(setup, 'late', { permit }))
      release?.()
      expect([await reachedIn(setup), permit.timesSent]).toEqual([[], 0])
    })
})
