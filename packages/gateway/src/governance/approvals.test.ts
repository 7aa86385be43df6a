import { Cancellation, SallyportError, type SallyportEvent } from '@sallyport/core'
import { array, assert, asyncProperty, constantFrom } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ApprovalSubject } from './approval.ts'
import { ANN, createApprovals, SUBJECT, YES } from './approvals.test-kit.ts'
import type { ApprovalsOptions } from './approvals.ts'
import { CallTracker } from './call-tracker.ts'

function open(options: Partial<ApprovalsOptions> = {}) {
  const { approvals, events } = createApprovals(options)
  const ask = (subject: Partial<ApprovalSubject> = {}, cancellation = new Cancellation()) => {
    const asked = { ...SUBJECT, ...subject }
    return new Promise<{ readonly id: string; readonly outcome: Promise<unknown> }>((resolve) => {
      const outcome = approvals.request(asked, { cancellation, onPending: ({ id }) => resolve({ id, outcome }) })
      void outcome.then(() => resolve({ id: '', outcome }))
    })
  }
  return { approvals, events, ask }
}

const codeOf = (outcome: unknown): unknown => (outcome instanceof SallyportError ? outcome.code : outcome)

describe('a call that waits for approval', () => {
  it('shows its subject, and continues once somebody approves it', async () => {
    const { approvals, events, ask } = open()
    const { id, outcome } = await ask()
    expect(approvals.pending).toMatchObject([{ id, ...SUBJECT }])
    await approvals.answer(id, YES)
    expect(await outcome).toEqual({
      approval: id,
      scope: 'once',
      by: 'olga',
      via: 'api',
      definition: SUBJECT.definition,
    })
    expect(approvals.pending).toEqual([])
    expect(events).toMatchObject([
      { type: 'APPROVAL_REQUESTED', approval: id, call_id: 'c1', rule: SUBJECT.rule, arguments: { id: 3 } },
      { type: 'APPROVAL_ANSWERED', approval: id, answer: 'once', by: 'olga', via: 'api' },
    ])
  })

  it('is listed for whoever has read its record, even before that is confirmed', async () => {
    let confirm = (): void => undefined
    const confirmed = new Promise<void>((resolve) => (confirm = resolve))
    const { approvals, ask } = open({ record: () => confirmed })
    const asked = ask()
    expect(approvals.pending).toEqual([])
    const listing = approvals.list()
    confirm()
    const { id } = await asked
    expect(await listing).toMatchObject([{ id }])
  })

  it('is refused with the reason of the person who denied it', async () => {
    const { approvals, ask } = open()
    const { id, outcome } = await ask()
    await approvals.answer(id, { ...YES, answer: 'deny', why: 'not on a Friday' })
    expect(await outcome).toMatchObject({
      code: 'APPROVAL_DENIED',
      text: 'olga did not approve this call: not on a Friday. The call was not made.',
    })
  })

  it('is refused if nobody answers in time', async () => {
    const { approvals, events, ask } = open({ timeout: () => 1 })
    const { id, outcome } = await ask()
    expect(codeOf(await outcome)).toBe('APPROVAL_EXPIRED')
    expect(events.at(-1)).toMatchObject({ type: 'APPROVAL_EXPIRED', approval: id })
    await expect(approvals.answer(id, YES)).rejects.toMatchObject({ code: 'APPROVAL_SETTLED' })
  })

  it('is refused if it expired while the machine slept, even if somebody answers later', async () => {
    let now = Date.now()
    const { approvals, ask } = open({ now: () => now })
    const { id, outcome } = await ask()
    now += 60_000
    await expect(approvals.answer(id, YES)).rejects.toMatchObject({ code: 'APPROVAL_SETTLED' })
    expect(codeOf(await outcome)).toBe('APPROVAL_EXPIRED')
  })

  it('is refused if its client goes away, also before it was recorded', async () => {
    const { ask } = open()
    const cancellation = new Cancellation()
    const { outcome } = await ask({}, cancellation)
    cancellation.cancel('the client left')
    expect(codeOf(await outcome)).toBe('CALL_CANCELLED')
    expect(codeOf(await (await ask({}, cancellation)).outcome)).toBe('CALL_CANCELLED')
  })

  it('is refused if the gateway stops, and so is a later one', async () => {
    const { approvals, ask } = open()
    const { outcome } = await ask()
    approvals.close('the gateway stopped')
    expect(codeOf(await outcome)).toBe('APPROVAL_EXPIRED')
    expect(codeOf(await (await ask()).outcome)).toBe('APPROVAL_EXPIRED')
  })

  it('is refused if its request cannot be recorded', async () => {
    const record = () => Promise.reject(new SallyportError('AUDIT_UNAVAILABLE', 'full'))
    const { approvals, ask } = open({ record })
    expect(codeOf(await (await ask()).outcome)).toBe('AUDIT_UNAVAILABLE')
    expect(approvals.pending).toEqual([])
  })
})

describe('an answer', () => {
  it('is valid only if it is the first, also while another one is being recorded', async () => {
    const { approvals, ask } = open()
    const { id, outcome } = await ask()
    const first = approvals.answer(id, { ...YES, answer: 'deny' })
    await expect(approvals.answer(id, YES)).rejects.toMatchObject({ code: 'APPROVAL_SETTLED' })
    await first
    expect(codeOf(await outcome)).toBe('APPROVAL_DENIED')
    await expect(approvals.answer(id, YES)).rejects.toMatchObject({ code: 'APPROVAL_SETTLED' })
    await expect(approvals.answer('nobody', YES)).rejects.toMatchObject({ code: 'APPROVAL_UNKNOWN' })
  })

  it('that could not be recorded has no effect: the call still waits', async () => {
    let isFull = false
    const record = async () => {
      if (isFull) throw new SallyportError('AUDIT_UNAVAILABLE', 'full')
    }
    const { approvals, ask } = open({ record })
    const { id, outcome } = await ask()
    isFull = true
    await expect(approvals.answer(id, YES)).rejects.toMatchObject({ code: 'AUDIT_UNAVAILABLE' })
    expect(approvals.pending).toHaveLength(1)
    isFull = false
    await approvals.answer(id, YES)
    expect(await outcome).toMatchObject({ scope: 'once' })
  })

  it('for the session is valid for exactly this caller, server, request, definition and arguments', async () => {
    const { approvals, ask } = open()
    const { id, outcome } = await ask()
    await approvals.answer(id, { ...YES, answer: 'session' })
    await outcome
    expect(approvals.grantFor({ ...SUBJECT, arguments: { id: 3 } })).toMatchObject({ approval: id })
    const others: Partial<ApprovalSubject>[] = [
      { arguments: { id: 4 } },
      { tool: 'mcp__notes__clear' },
      { server: 'copy-of-notes' },
      { method: 'tasks/cancel' },
      { definition: 'sha256-2' },
      { principal: { ...ANN, session: 's2' } },
      { principal: { ...ANN, user: 'bob' } },
      { principal: { ...ANN, profile: 'reviewer' } },
    ]
    for (const other of others) expect(approvals.grantFor({ ...SUBJECT, ...other })).toBeUndefined()
  })

  it('for the session is valid for one call if approvals became invalid while it was being recorded', async () => {
    const record: ApprovalsOptions['record'] = async ({ type }) => {
      if (type === 'APPROVAL_ANSWERED') approvals.forget()
    }
    const { approvals, ask } = open({ record })
    const { id, outcome } = await ask()
    await approvals.answer(id, { ...YES, answer: 'session' })
    expect(await outcome).toMatchObject({ scope: 'once' })
    expect(approvals.grantFor(SUBJECT)).toBeUndefined()
  })

  it('once is not valid for another call', async () => {
    const { approvals, ask } = open()
    const { id } = await ask()
    await approvals.answer(id, YES)
    expect(approvals.grantFor(SUBJECT)).toBeUndefined()
  })

  it('"always" takes effect only after the file is changed', async () => {
    const allowAlways = () => Promise.reject(new SallyportError('TOOLS_FILE_UNSAFE', 'flow style'))
    const { approvals, ask } = open({ allowAlways })
    const { id } = await ask()
    await expect(approvals.answer(id, { ...YES, answer: 'always' })).rejects.toMatchObject({
      code: 'TOOLS_FILE_UNSAFE',
    })
    expect(approvals.pending).toHaveLength(1)
  })

  it('"always" is valid once if the file cannot be changed, and the log has the reason', async () => {
    const unsafe = new SallyportError('TOOLS_FILE_UNSAFE', 'The disk is full.', { hint: 'Make room.' })
    const { approvals, events, ask } = open({ allowAlways: async () => () => Promise.reject(unsafe) })
    const { id, outcome } = await ask()
    const unwritten = 'The disk is full. Make room.'
    expect(await approvals.answer(id, { ...YES, answer: 'always' })).toEqual({ ...YES, unwritten })
    expect(await outcome).toMatchObject({ approval: id, scope: 'once' })
    expect(approvals.grantFor(SUBJECT)).toBeUndefined()
    expect(events.slice(1)).toMatchObject([
      { type: 'APPROVAL_ANSWERED', approval: id, answer: 'always' },
      { type: 'APPROVAL_ANSWERED', approval: id, answer: 'once', unwritten },
    ])
  })

  it('"always" has no effect if the log cannot record that it is valid only once', async () => {
    const full = new SallyportError('AUDIT_UNAVAILABLE', 'full')
    let room = 2
    const record = () => (room-- > 0 ? Promise.resolve() : Promise.reject(full))
    const allowAlways = async () => () => Promise.reject(new SallyportError('TOOLS_FILE_UNSAFE', 'full'))
    const { approvals, ask } = open({ allowAlways, record })
    const { id } = await ask()
    await expect(approvals.answer(id, { ...YES, answer: 'always' })).rejects.toBe(full)
    expect(approvals.pending).toHaveLength(1)
  })

  it('"always" does not change the file before it is recorded', async () => {
    const full = new SallyportError('AUDIT_UNAVAILABLE', 'The disk is full.')
    let [isWritten, isFull] = [false, false]
    const record = () => (isFull ? Promise.reject(full) : Promise.resolve())
    const allowAlways = async () => async () => {
      isWritten = true
    }
    const { approvals, ask } = open({ allowAlways, record })
    const { id } = await ask()
    isFull = true
    await expect(approvals.answer(id, { ...YES, answer: 'always' })).rejects.toBe(full)
    expect(isWritten).toBe(false)
  })
})

it('no caller can fill the list of pending requests', async () => {
  const { approvals, ask } = open()
  const outcomes = await Promise.all(Array.from({ length: 120 }, () => ask()))
  const refused = await Promise.all(outcomes.filter(({ id }) => id === '').map(({ outcome }) => outcome))
  expect(approvals.pending.length).toBeLessThanOrEqual(100)
  expect(refused.map(codeOf)).toEqual(Array(120 - approvals.pending.length).fill('OVERLOADED'))
  const other = await ask({ principal: { ...ANN, session: 's2' } })
  expect(other.id).not.toBe('')
  approvals.close('over')
})

describe('a request that was recorded', () => {
  /** Opens approvals whose records are on disk only when the test calls `write`. */
  function openSlowly() {
    const waiting: (() => void)[] = []
    const written: SallyportEvent[] = []
    const record = (event: SallyportEvent): Promise<void> => {
      written.push(event)
      return new Promise((resolve) => waiting.push(resolve))
    }
    const opened = open({ record })
    const write = async (): Promise<void> => {
      for (const resolve of waiting.splice(0)) resolve()
      await new Promise((resolve) => setImmediate(resolve))
    }
    const ends = (): readonly (readonly [string, number])[] =>
      written
        .filter((event) => event.type === 'APPROVAL_REQUESTED')
        .map(({ approval }) => [approval, written.filter((event) => isEndOf(event, approval)).length])
    return { ...opened, write, ends }
  }

  const isEndOf = (event: SallyportEvent, id: string): boolean =>
    (event.type === 'APPROVAL_ANSWERED' || event.type === 'APPROVAL_EXPIRED') && event.approval === id

  it('gets an end in the log, whatever happens and whenever', async () => {
    const step = constantFrom('ask', 'ask', 'write', 'cancel', 'answer', 'withdraw', 'close')
    await assert(
      asyncProperty(array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
        const { approvals, write, ends } = openSlowly()
        const cancellations: Cancellation[] = []
        for (const kind of steps) {
          if (kind === 'write') await write()
          if (kind === 'cancel') cancellations.pop()?.cancel('the client went away')
          if (kind === 'withdraw') approvals.withdraw('its token was revoked', () => true)
          if (kind === 'close') approvals.close('the gateway stops')
          if (kind === 'answer')
            for (const { id } of approvals.pending.slice(0, 1)) void approvals.answer(id, YES).catch(() => 0)
          if (kind === 'ask') {
            const cancellation = new Cancellation()
            cancellations.push(cancellation)
            void approvals.request(SUBJECT, { cancellation })
          }
        }
        await write()
        approvals.close('the gateway stops')
        for (let turn = 0; turn < 3; turn++) await write()
        for (const [id, count] of ends()) expect([id, count > 0]).toEqual([id, true])
      }),
    )
  })

  it('is not recorded beyond the limit of pending requests, also for many simultaneous calls', async () => {
    const { approvals, write, ends } = openSlowly()
    const asked = Array.from({ length: 250 }, () => approvals.request(SUBJECT, { cancellation: new Cancellation() }))
    await write()
    expect(ends()).toHaveLength(100)
    expect(approvals.pending).toHaveLength(100)
    approvals.close('the gateway stops')
    await write()
    expect(ends().every(([, count]) => count === 1)).toBe(true)
    expect((await Promise.all(asked)).map(codeOf).filter((code) => code === 'OVERLOADED')).toHaveLength(150)
  })
})

describe('the approver', () => {
  const approveWith = async (become: (tracker: CallTracker) => void) => {
    const { approvals } = open()
    const tracker = new CallTracker()
    const onPending = (): void => undefined
    const outcome = approvals.request(SUBJECT, { cancellation: new Cancellation(), onPending, tracker })
    void outcome.then(() => become(tracker))
    await new Promise((resolve) => setImmediate(resolve))
    return approvals.answer(approvals.pending[0]?.id ?? '', YES)
  }

  it('gets only the answer if the call was made', async () => {
    expect(await approveWith((tracker) => tracker.markEnded())).toEqual(YES)
    expect(await approveWith((tracker) => tracker.markSent())).toEqual(YES)
  })

  it('learns why the call was not made, also if it failed immediately', async () => {
    const error = new SallyportError('MODE_FORBIDS', 'A lockdown has begun.')
    expect(await approveWith((tracker) => tracker.markEnded(error))).toMatchObject({
      callError: 'A lockdown has begun.',
    })
    const failing = (tracker: CallTracker): void => {
      tracker.markSent()
      tracker.markEnded(error)
    }
    expect(await approveWith(failing)).toMatchObject({ callError: 'A lockdown has begun.' })
    expect(await approveWith((tracker) => tracker.markDeferred())).toMatchObject({
      callError: expect.stringContaining('has to make the same call again'),
    })
  })

  it('gets an error if the client went away while the answer was being recorded', async () => {
    const cancellation = new Cancellation()
    const { approvals, ask } = open({
      record: async ({ type }) => void (type === 'APPROVAL_ANSWERED' && cancellation.cancel('the client went away')),
    })
    const { id } = await ask({}, cancellation)
    await expect(approvals.answer(id, YES)).rejects.toMatchObject({ code: 'APPROVAL_SETTLED' })
  })
})
