import { Cancellation, callCancelled, type Principal, SallyportError } from '@sallyport/core'
import type { ApprovalSubject, Grant, PendingApproval } from './approval.ts'
import { type Approvals, type Asking, grantKey } from './approvals.ts'
import { CallFate } from './call-fate.ts'

/**
 * How long the calls of agents are held that give up on a call sooner than a person answers, know no progress, and cannot
 * be told to wait (AG-17). Somewhat less than they would.
 */
const PATIENCE_MS: ReadonlyMap<string, number> = new Map([
  ['continue', 45_000],
  ['droid', 150_000],
  ['goose', 240_000],
])

/** How long an answer is kept for the call to be repeated. */
const KEPT_MS = 600_000
const MOST_HELD = 1_000

interface Held {
  readonly outcome: Promise<Grant | SallyportError>
  readonly cancellation: Cancellation
  readonly fate: CallFate
  approval: PendingApproval | undefined
  /** How many calls wait for it now. */
  waiting: number
  /** An approval is good for one call, however many asked the same. */
  isTaken: boolean
}

type Inner = Pick<Approvals, 'grantFor' | 'request' | 'answer' | 'onChange'>

export interface PatientOptions {
  readonly approvals: Inner & Pick<Approvals, 'onForget'>
  /** Undefined: as long as it takes. */
  readonly patienceOf?: (principal: Principal) => number | undefined
}

/** Approvals in which a call may be answered "not yet": the same call, made again, goes on waiting for the same person. */
export class PatientApprovals implements Inner {
  readonly grantFor: Inner['grantFor']
  readonly answer: Inner['answer']
  readonly onChange: Inner['onChange']
  readonly #approvals: Inner
  readonly #patienceOf: (principal: Principal) => number | undefined
  readonly #held = new Map<string, Held>()

  constructor({ approvals, patienceOf = ({ agent }) => PATIENCE_MS.get(agent) }: PatientOptions) {
    this.#approvals = approvals
    this.#patienceOf = patienceOf
    this.grantFor = (subject) => approvals.grantFor(subject)
    this.answer = (id, answer) => approvals.answer(id, answer)
    this.onChange = (listener) => approvals.onChange(listener)
    approvals.onForget(() => this.#held.clear())
  }

  request(subject: ApprovalSubject, asking: Asking): Promise<Grant | SallyportError> {
    const patience = subject.method === 'tools/call' ? this.#patienceOf(subject.principal) : undefined
    if (patience === undefined) return this.#approvals.request(subject, asking)
    return this.#join(subject, asking, performance.now() + patience)
  }

  async #join(subject: ApprovalSubject, asking: Asking, until: number): Promise<Grant | SallyportError> {
    const key = grantKey(subject)
    for (;;) {
      const held = this.#held.get(key) ?? this.#hold(key, subject, asking)
      const outcome = await waitFor(held, asking.cancellation, until)
      if (outcome === 'impatient') return pending(held)
      if (this.#held.get(key) === held && isOver(held, asking)) this.#held.delete(key)
      if (outcome instanceof SallyportError) return outcome
      if (held.isTaken) continue
      held.isTaken = true
      if (asking.fate) held.fate.follow(asking.fate)
      return outcome
    }
  }

  #hold(key: string, subject: ApprovalSubject, { onPending }: Asking): Held {
    const cancellation = new Cancellation()
    const fate = new CallFate()
    const outcome = this.#approvals.request(subject, {
      cancellation,
      fate,
      onPending: (approval) => {
        held.approval = approval
        onPending?.(approval)
      },
    })
    const held: Held = { outcome, cancellation, fate, approval: undefined, waiting: 0, isTaken: false }
    const [oldest] = this.#held.keys()
    if (this.#held.size >= MOST_HELD && oldest !== undefined) this.#held.delete(oldest)
    this.#held.set(key, held)
    const forget = (): void => void (this.#held.get(key) === held && this.#held.delete(key))
    void outcome.then(() => {
      if (held.waiting === 0) fate.kept()
      setTimeout(forget, KEPT_MS).unref()
    })
    return held
  }
}

/** A call that was withdrawn says nothing of the request, unless it was the last that waited. */
const isOver = (held: Held, { cancellation }: Asking): boolean =>
  cancellation.reason === undefined || held.cancellation.reason !== undefined

/** The person's answer, or whatever ends the waiting before. The last call that is withdrawn withdraws the request. */
function waitFor(held: Held, cancellation: Cancellation, until: number): Promise<Grant | SallyportError | 'impatient'> {
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
      resolve(callCancelled(reason))
    })
  }).finally(() => {
    held.waiting--
    cancellation.onCancel(undefined)
  })
}

function pending({ approval }: Held): SallyportError {
  const request = approval === undefined ? '' : ` (request ${approval.id})`
  return new SallyportError('APPROVAL_PENDING', `Waiting for approval${request}: repeat the same call.`, {
    hint: 'It was not made yet. The same call, with the same arguments, goes on waiting for the same answer.',
  })
}
