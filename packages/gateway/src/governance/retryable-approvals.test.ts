import { Cancellation, SallyportError } from '@sallyport/core'
import { expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { ApprovalSubject, Grant } from './approval.ts'
import { ANN, createApprovals, SUBJECT, YES } from './approvals.test-kit.ts'
import { CallTracker } from './call-tracker.ts'
import { RetryableApprovals } from './retryable-approvals.ts'

function open({ timeoutMs }: { readonly timeoutMs: number | undefined }) {
  const { approvals, events } = createApprovals()
  const retryable = new RetryableApprovals({ approvals, timeoutFor: () => timeoutMs })
  const ask = async (subject: Partial<ApprovalSubject> = {}, cancellation = new Cancellation()) => {
    const tracker = new CallTracker()
    const outcome = await retryable.request({ ...SUBJECT, ...subject }, { cancellation, tracker })
    // The approver waits until it is known what became of the call.
    tracker.markEnded()
    return outcome
  }
  const untilPending = (count: number): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => void (approvals.pending.length === count && resolve())
      approvals.onChange(check)
      check()
    })
  return { approvals, events, ask, untilPending }
}

const codeOf = (outcome: Grant | SallyportError): string =>
  outcome instanceof SallyportError ? outcome.code : 'granted'

it(`${promise('AG-17')} a call whose client would time out is answered "not yet", and the request stays pending`, async () => {
  const { approvals, ask } = open({ timeoutMs: 1 })
  const outcome = await ask()
  expect(codeOf(outcome)).toBe('APPROVAL_PENDING')
  expect(String(outcome)).toContain('repeat the same call')
  expect(approvals.pending).toHaveLength(1)
  approvals.close('the test ended')
})

it('a repeated call joins the pending request instead of creating a new one', async () => {
  const { approvals, events, ask } = open({ timeoutMs: 1 })
  for (let times = 0; times < 3; times++) expect(codeOf(await ask({ callId: `c${times}` }))).toBe('APPROVAL_PENDING')
  expect(events.filter(({ type }) => type === 'APPROVAL_REQUESTED')).toHaveLength(1)
  approvals.close('the test ended')
})

it('an answer that came in between is used for one repeated call only', async () => {
  const { approvals, ask } = open({ timeoutMs: 1 })
  await ask()
  await approvals.answer('a1', YES)
  expect(codeOf(await ask())).toBe('granted')
  expect(codeOf(await ask())).toBe('APPROVAL_PENDING')
  expect(approvals.pending.map(({ id }) => id)).toEqual(['a2'])
  approvals.close('the test ended')
})

it('an answer that came in between becomes invalid together with all others', async () => {
  const { approvals, ask } = open({ timeoutMs: 1 })
  await ask()
  await approvals.answer('a1', YES)
  approvals.forget()
  expect(codeOf(await ask())).toBe('APPROVAL_PENDING')
  approvals.close('the test ended')
})

it('a refusal that came in between is returned once', async () => {
  const { approvals, ask } = open({ timeoutMs: 1 })
  await ask()
  await approvals.answer('a1', { ...YES, answer: 'deny' })
  expect(codeOf(await ask())).toBe('APPROVAL_DENIED')
  expect(codeOf(await ask())).toBe('APPROVAL_PENDING')
  approvals.close('the test ended')
})

it('of two simultaneous calls, one uses the approval, and the other asks for its own', async () => {
  const { approvals, ask, untilPending } = open({ timeoutMs: 60_000 })
  const both = [ask(), ask()]
  await untilPending(1)
  await approvals.answer('a1', YES)
  expect(codeOf(await Promise.race(both))).toBe('granted')
  await untilPending(1)
  expect(approvals.pending.map(({ id }) => id)).toEqual(['a2'])
  await approvals.answer('a2', YES)
  expect((await Promise.all(both)).map(codeOf)).toEqual(['granted', 'granted'])
})

it.each([
  ['other arguments', { arguments: { id: 4 } }],
  ['another session', { principal: { ...ANN, session: 's2' } }],
  ['another definition', { definition: 'sha256-2' }],
])('a call with %s does not get that answer', async (_what, other) => {
  const { approvals, ask } = open({ timeoutMs: 1 })
  await ask()
  await approvals.answer('a1', YES)
  expect(codeOf(await ask(other))).toBe('APPROVAL_PENDING')
  approvals.close('the test ended')
})

it('a cancelled call cancels the request, unless another call waits for it', async () => {
  const { approvals, ask, untilPending } = open({ timeoutMs: 60_000 })
  const [first, second] = [new Cancellation(), new Cancellation()]
  const calls = [ask({}, first), ask({}, second)]
  await untilPending(1)
  first.cancel('it gave up')
  expect(codeOf((await calls[0]) as SallyportError)).toBe('CALL_CANCELLED')
  expect(approvals.pending).toHaveLength(1)
  second.cancel('it gave up too')
  expect(codeOf((await calls[1]) as SallyportError)).toBe('CALL_CANCELLED')
  expect(approvals.pending).toHaveLength(0)
  const third = new Cancellation()
  const again = ask({}, third)
  await untilPending(1)
  third.cancel('and so did this one')
  expect(codeOf(await again)).toBe('CALL_CANCELLED')
})

it('a call without a timeout waits for as long as needed', async () => {
  const { approvals, ask, untilPending } = open({ timeoutMs: undefined })
  const call = ask()
  await untilPending(1)
  await approvals.answer('a1', YES)
  expect(codeOf(await call)).toBe('granted')
})
