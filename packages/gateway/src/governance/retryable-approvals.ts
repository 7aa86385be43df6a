import { Cancellation, callCancelledError, type Principal, SallyportError } from '@sallyport/core'
import type { ApprovalSubject, Grant, PendingApproval } from './approval.ts'
import { type Approvals, type ApprovalWait, grantKey } from './approvals.ts'
import { CallTracker } from './call-tracker.ts'

/**
 * How long calls of these agents wait for approval. These agents stop waiting before a person usually answers, ignore
 * progress, and have no setting to wait longer (AG-17). Each value is a little below the agent's own timeout.
 */
const AGENT_TIMEOUT_MS: ReadonlyMap<string, number> = new Map([
  ['continue', 45_000],
  ['droid', 150_000],
  ['goose', 240_000],
])

/** How long an answer is retained for the repeated call. */
const ANSWER_RETENTION_MS = 600_000
const MAX_HELD = 1_000

interface HeldRequest {
  readonly outcome: Promise<Grant | SallyportError>
  readonly cancellation: Cancellation
  readonly tracker: CallTracker
  /** Resolves once the request is pending, or over. */
  readonly announced: Promise<unknown>
  approval: PendingApproval | undefined
  /** How many calls are waiting for the answer now. */
  waiting: number
  /** An approval is valid for one call only, however many calls asked for the same. */
  isUsed: boolean
}

/** An approval, a denial, or the request that somebody can still approve; `undefined` if nobody can. */
export type Claim = Grant | SallyportError | { readonly pending: PendingApproval | undefined }

type Inner = Pick<Approvals, 'grantFor' | 'request' | 'answer' | 'onChange'>

export interface RetryableApprovalsOptions {
  readonly approvals: Inner & Pick<Approvals, 'onForget'>
  /** How long a call may wait, in milliseconds. Undefined: no limit. */
  readonly timeoutFor?: (principal: Principal) => number | undefined
}

/** Approvals that can answer a call with "not yet". When the agent repeats the call, it joins the same pending request. */
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

  request(subject: ApprovalSubject, wait: ApprovalWait): Promise<Grant | SallyportError> {
    const timeoutMs = subject.method === 'tools/call' ? this.#timeoutFor(subject.principal) : undefined
    if (timeoutMs === undefined) return this.#approvals.request(subject, wait)
    return this.#join(subject, wait, performance.now() + timeoutMs)
  }

  /**
   * For calls that do not wait: the approval of exactly this call, if somebody has given it meanwhile, else the pending
   * request for one.
   */
  async claim(subject: ApprovalSubject, { tracker }: Pick<ApprovalWait, 'tracker'>): Promise<Claim> {
    const key = `${grantKey(subject)} private`
    const held = this.#held.get(key) ?? this.#hold(key, subject, {})
    await held.announced
    const outcome = await Promise.race([held.outcome, undefined])
    if (outcome === undefined) return { pending: held.approval }
    // A denial stays for a while: an agent that repeats the call must not ask the same person again and again.
    if (outcome instanceof SallyportError && outcome.code === 'APPROVAL_DENIED') return outcome
    if (this.#held.get(key) === held) this.#held.delete(key)
    if (outcome instanceof SallyportError || held.isUsed) return { pending: undefined }
    held.isUsed = true
    if (tracker) held.tracker.follow(tracker)
    return outcome
  }

  async #join(subject: ApprovalSubject, wait: ApprovalWait, until: number): Promise<Grant | SallyportError> {
    const key = grantKey(subject)
    for (;;) {
      const held = this.#held.get(key) ?? this.#hold(key, subject, wait)
      const outcome = await waitFor(held, wait.cancellation, until)
      if (outcome === 'timeout') return pendingError(held)
      if (this.#held.get(key) === held && isOver(held, wait)) this.#held.delete(key)
      if (outcome instanceof SallyportError) return outcome
      if (held.isUsed) continue
      held.isUsed = true
      if (wait.tracker) held.tracker.follow(wait.tracker)
      return outcome
    }
  }

  #hold(key: string, subject: ApprovalSubject, { onPending }: Pick<ApprovalWait, 'onPending'>): HeldRequest {
    const cancellation = new Cancellation()
    const tracker = new CallTracker()
    let announce = (): void => undefined
    const pending = new Promise<void>((resolve) => {
      announce = resolve
    })
    const outcome = this.#approvals.request(subject, {
      cancellation,
      tracker,
      onPending: (approval) => {
        held.approval = approval
        announce()
        onPending?.(approval)
      },
    })
    const announced = Promise.race([pending, outcome])
    const held: HeldRequest = {
      ...{ outcome, cancellation, tracker, announced },
      ...{ approval: undefined, waiting: 0, isUsed: false },
    }
    const [oldest] = this.#held.keys()
    if (this.#held.size >= MAX_HELD && oldest !== undefined) this.#held.delete(oldest)
    this.#held.set(key, held)
    const forget = (): void => void (this.#held.get(key) === held && this.#held.delete(key))
    void outcome.then(() => {
      if (held.waiting === 0) tracker.markDeferred()
      setTimeout(forget, ANSWER_RETENTION_MS).unref()
    })
    return held
  }
}

/** A cancelled call does not end the request, unless it was the last call that waited for it. */
const isOver = (held: HeldRequest, { cancellation }: ApprovalWait): boolean =>
  cancellation.reason === undefined || held.cancellation.reason !== undefined

/** Waits for the answer, a timeout or a cancellation. When the last waiting call is cancelled, the request is cancelled too. */
function waitFor(
  held: HeldRequest,
  cancellation: Cancellation,
  until: number,
): Promise<Grant | SallyportError | 'timeout'> {
  held.waiting++
  return new Promise<Grant | SallyportError | 'timeout'>((resolve) => {
    const timer = setTimeout(() => resolve('timeout'), Math.max(0, until - performance.now()))
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
    hint: 'The call was not made yet. Repeat it with the same arguments to keep waiting for the same answer.',
  })
}
