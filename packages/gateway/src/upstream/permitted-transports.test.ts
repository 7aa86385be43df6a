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
  // Nothing waits on the way to a server in this very process.
  { name: 'in process', open: openInProcessTransport, waits: [] },
]

function deferred(): { readonly outcome: Promise<SallyportError | undefined>; settle(refusal?: SallyportError): void } {
  let settle: (refusal?: SallyportError) => void = () => {}
  const outcome = new Promise<SallyportError | undefined>((resolve) => {
    settle = resolve
  })
  return { outcome, settle: (refusal) => settle(refusal) }
}

/** What has reached the server, once a further call has come back. */
async function reachedIn(rig: TestTransport): Promise<readonly string[]> {
  await rig.events.answer(ask(rig, 'after'))
  return (await rig.reached()).filter((name) => name !== 'after')
}

/** A call that was given to a transport in a moment in which its permit has to be renewed. */
async function renewing(rig: TestTransport) {
  const { outcome, settle } = deferred()
  const permit = new TestPermit().becomeStale(outcome)
  const id = ask(rig, 'late', { permit })
  while (permit.timesRenewed === 0) await new Promise(setImmediate)
  return { id, permit, settle }
}

describe.each(TRANSPORTS)(`a call over $name (${promise('GOV-13')})`, ({ open, waits }) => {
  it('is sent at once where its permit is current', async () => {
    const rig = await open()
    const permit = new TestPermit()
    await rig.events.answer(ask(rig, 'first', { permit }))
    expect([permit.timesSent, permit.timesRenewed, await reachedIn(rig)]).toEqual([1, 0, ['first']])
  })

  it('is sent once where its permit is renewed, and again needs one that is current', async () => {
    const rig = await open()
    const { id, permit, settle } = await renewing(rig)
    // What changes between the renewal and the next turn counts too.
    const again = deferred()
    queueMicrotask(() => queueMicrotask(() => permit.becomeStale(again.outcome)))
    settle()
    while (permit.timesRenewed === 1) await new Promise(setImmediate)
    again.settle()
    await rig.events.answer(id)
    expect([permit.timesSent, permit.timesRenewed, await reachedIn(rig)]).toEqual([1, 2, ['late']])
  })

  it('does not reach the server where its permit is no longer given, and fails with the reason', async () => {
    const rig = await open()
    const { id, permit, settle } = await renewing(rig)
    settle(lockedDown())
    expect(await rig.events.failure(id)).toMatchObject({ code: 'MODE_FORBIDS' })
    expect([permit.timesSent, await reachedIn(rig)]).toEqual([0, []])
    expect(rig.events.failures).toHaveLength(1)
  })

  it('fails and is not sent where judging it again breaks', async () => {
    const rig = await open()
    const permit = new TestPermit()
    permit.becomeStale()
    permit.renew = () => Promise.reject(new TypeError('a bug'))
    expect(await rig.events.failure(ask(rig, 'late', { permit }))).toMatchObject({ code: 'INTERNAL' })
    expect([permit.timesSent, await reachedIn(rig)]).toEqual([0, []])
  })

  it('is never sent once it is abandoned while its permit is renewed', async () => {
    const rig = await open()
    const { id, permit, settle } = await renewing(rig)
    rig.transport.abandon(id)
    settle()
    expect([await reachedIn(rig), permit.timesSent, rig.events.failures]).toEqual([[], 0, []])
  })

  it('is never sent once the connection is closed while its permit is renewed', async () => {
    const rig = await open()
    const { permit, settle } = await renewing(rig)
    const closed = rig.transport.close()
    settle()
    await closed
    expect([permit.timesSent, rig.events.failures]).toEqual([0, []])
  })

  it('opens nothing anew where its session is first seen after the close', async () => {
    const rig = await open()
    const { outcome, settle } = deferred()
    const permit = new TestPermit().becomeStale(outcome)
    ask(rig, 'late', { permit, session: 'ann\nwork' })
    const closed = rig.transport.close()
    settle()
    await closed
    expect(permit.timesSent).toBe(0)
  })

  if (waits.length > 0)
    it.each(waits)('is refused where its permit becomes stale while it waits %s', async (wait) => {
      const rig = await open()
      const release = await rig.waits[wait]?.()
      const permits = Array.from({ length: 20 }, () => new TestPermit())
      const ids = permits.map((permit) => ask(rig, 'late', { permit }))
      const kept = ask(rig, 'first')
      for (const permit of permits) permit.becomeStale()
      release?.()
      for (const id of ids) expect(await rig.events.failure(id)).toMatchObject({ code: 'MODE_FORBIDS' })
      await rig.events.answer(kept)
      expect(await reachedIn(rig)).toEqual(['first'])
      expect(permits.every(({ timesSent }) => timesSent === 0)).toBe(true)
    })

  if (waits.length > 0)
    it.each(waits)('is not sent where it is abandoned while it waits %s', async (wait) => {
      const rig = await open()
      const release = await rig.waits[wait]?.()
      const permit = new TestPermit()
      rig.transport.abandon(ask(rig, 'late', { permit }))
      release?.()
      expect([await reachedIn(rig), permit.timesSent]).toEqual([[], 0])
    })
})
