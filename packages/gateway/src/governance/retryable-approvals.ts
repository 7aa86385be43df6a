import { Cancellation, callCancelledError, type Principal, SallyportError } from '@sallyport/core'
import type { ApprovalSubject, Grant, PendingApproval } from './approval.ts'
import { type Approvals, type ApprovalWait, grantKey } from './approvals.ts'
import { CallTracker } from './call-tracker.ts'

/**
 * How long the calls of agents are held that give up on a call sooner than a person answers, know no progress, and cannot
 * be told to wait (AG-17). Somewhat less than they would.
 */
const AGENT_TIMEOUT_MS: ReadonlyMap<string, number> = new Map([
  ['continue', 45_000],
  ['droid', 150_000],
  ['goose', 240_000],
])

/** How long an answer is kept for the call to be repeated. */
const ANSWER_RETENTION_MS = 600_000
const MAX_HELD = 1_000

interface HeldRequest {
  readonly outcome: Promise<Grant | SallyportError>
  readonly cancellation: Cancellation
  readonly fate: CallTracker
  approval: PendingApproval | undefined
  /** How many calls wait for it now. */
  waiting: number
  /** An approval is good for one call, however many asked the same. */
  isTaken: boolean
}

type Inner = Pick<Approvals, 'grantFor' | 'request' | 'answer' | 'onChange'>

export interface RetryableApprovalsOptions {
  readonly approvals: Inner & Pick<Approvals, 'onForget'>
  /** Undefined: as long as it takes. */
  readonly timeoutFor?: (principal: Principal) => number | undefined
}

/** Approvals in which a call may be answered "not yet": the same call, made again, goes on waiting for the same person. */
export class RetryableApprovals implements Inner {
  readonly grantFor: Inner['grantFor']
  readonly answer: Inner['answer']
  readonly onChange: Inner['onChange']
  readonly #approvals: Inner
  readonly #timeoutFor: (principal: Principal) => number | undefined
  readonly #held = new Map<string, HeldRequest>()

  constructor({ approvals, timeoutFor = ({ agent }) => AGENT_TIMEOUT_MS.get(agent) }: RetryableApprovalsOptions) {
    this.#approvals = approvals
    this.#timeoutFor = timeoutFor
    this.grantFor = (subject) => approvals.grantFor(subject)
    this.answer = (id, answer) => approvals.answer(id, answer)
    this.onChange = (listener) => approvals.onChange(listener)
    approvals.onForget(() => this.#held.clear())
  }

  request(subject: ApprovalSubject, asking: ApprovalWait): Promise<Grant | SallyportError> {
    const patience = subject.method === 'tools/call' ? this.#timeoutFor(subject.principal) : undefined
    if (patience === undefined) return this.#approvals.request(subject, asking)
    return this.#join(subject, asking, performance.now() + patience)
  }

  async #join(subject: ApprovalSubject, asking: ApprovalWait, until: number): Promise<Grant | SallyportError> {
    const key = grantKey(subject)
    for (;;) {
      const held = this.#held.get(key) ?? this.#hold(key, subject, asking)
      const outcome = await waitFor(held, asking.cancellation, until)
      if (outcome === 'impatient') return pendingError(held)
      if (this.#held.get(key) === held && isOver(held, asking)) this.#held.delete(key)
      if (outcome instanceof SallyportError) return outcome
      if (held.isTaken) continue
      held.isTaken = true
      if (asking.fate) held.fate.follow(asking.fate)
      return outcome
    }
  }

  #hold(key: string, subject: ApprovalSubject, { onPending }: ApprovalWait): HeldRequest {
    const cancellation = new Cancellation()
    const fate = new CallTracker()
    const outcome = this.#approvals.request(subject, {
      cancellation,
      fate,
      onPending: (approval) => {
        held.approval = approval
        onPending?.(approval)
      },
    })
    const held: HeldRequest = { outcome, cancellation, fate, approval: undefined, waiting: 0, isTaken: false }
    const [oldest] = this.#held.keys()
    if (this.#held.size >= MAX_HELD && oldest !== undefined) this.#held.delete(oldest)
    this.#held.set(key, held)
    const forget = (): void => void (this.#held.get(key) === held && this.#held.delete(key))
    void outcome.then(() => {
      if (held.waiting === 0) fate.markDeferred()
      setTimeout(forget, ANSWER_RETENTION_MS).unref()
    })
    return held
  }
}

/** A call that was withdrawn says nothing of the request, unless it was the last that waited. */
const isOver = (held: HeldRequest, { cancellation }: ApprovalWait): boolean =>
  cancellation.reason === undefined || held.cancellation.reason !== undefined

/** The person's answer, or whatever ends the waiting before. The last call that is withdrawn withdraws the request. */
function waitFor(
  held: HeldRequest,
  cancellation: Cancellation,
  until: number,
): Promise<Grant | SallyportError | 'impatient'> {
  held.waiting++
  return new Promise<Grant | SallyportError | 'impatient'>((resolve) => {
    const timer = setTimeout(() => resolve('impatient'), Math.max(0, until - performance.now()))
    void held.outcome.then((outcome) => {
      clearTimeout(timer)
      resolve(outcome)
    })
    cancellation.onCancel((reason) => {
      clearTimeout(timer)
      if (held.waiting === 1) held.cancellation.cancel(reason)
      resolve(callCancelledError(reason))
    })
  }).finally(() => {
    held.waiting--
    cancellation.onCancel(undefined)
  })
}

function pendingError({ approval }: HeldRequest): SallyportError {
  const request = approval === undefined ? '' : ` (request ${approval.id})`
  return new SallyportError('APPROVAL_PENDING', `Waiting for approval${request}: repeat the same call.`, {
    hint: 'It was not made yet. The same call, with the same arguments, goes on waiting for the same answer.',
  })
}
