import { createHash } from 'node:crypto'
import {
  type CallFacts,
  type Cancellation,
  callCancelledError,
  canonicalJson,
  formatDuration,
  type Json,
  quoteText,
  SallyportError,
  type SallyportEvent,
  toOwnerKey,
} from '@sallyport/core'
import type { ApprovalAnswer, ApprovalSubject, EffectiveAnswer, Grant, PendingApproval } from './approval.ts'
import type { CallTracker } from './call-tracker.ts'

export interface ApprovalsOptions {
  /** Written, and on disk, when it resolves; rejects when that cannot be had. */
  readonly record: (event: SallyportEvent) => Promise<void>
  readonly timeout: () => number
  /** As much of the arguments as a record keeps. */
  readonly argumentsToRecord: (args: Json) => Json | undefined
  /** Rejects where tools.yaml cannot say that nobody has to be asked any more; else gives what writes it there. */
  readonly allowAlways: (approval: PendingApproval, by: string) => Promise<() => Promise<void>>
  /** Why there is nobody who could answer; nothing where somebody may be there. */
  readonly nobody?: () => string | undefined
  readonly newId: () => string
  readonly now: () => number
}

export type ApprovalChange = { readonly kind: 'requested' | 'settled'; readonly approval: PendingApproval }

/** Whoever asks may be driven by an attacker: more than these wait for nobody. */
const MAX_PENDING = 1_000
const MAX_PENDING_PER_OWNER = 100
const MAX_GRANTS = 10_000
const MAX_SETTLED = 1_000

export interface ApprovalWait {
  readonly cancellation: Cancellation
  /** It waits now, for whoever answers. */
  readonly onPending?: (approval: PendingApproval) => void
  /** What becomes of the call once it is approved, for whoever approves it. */
  readonly fate?: CallTracker | undefined
}

interface WaitingCall {
  readonly approval: PendingApproval
  readonly settle: (outcome: Grant | SallyportError) => void
  readonly timer: NodeJS.Timeout
  readonly fate: CallTracker | undefined
  /** Somebody's answer is being written: the first one counts. */
  isAnswered: boolean
}

/** Calls that wait for a person. Nothing is held for them but their place here, and whatever goes wrong refuses them. */
export class Approvals {
  readonly #options: ApprovalsOptions
  readonly #waiting = new Map<string, WaitingCall>()
  /** Those that begin to wait, with their owners: whoever reads the log may know of one before it is on disk. */
  readonly #recording = new Map<string, { readonly owner: string; readonly recorded: Promise<void> }>()
  /** For the rest of a session, by what exactly was approved. */
  readonly #grants = new Map<string, Grant>()
  /** How those ended that are over, for whoever answers too late. */
  readonly #settled = new Map<string, string>()
  readonly #listeners = new Set<(change: ApprovalChange) => void>()
  readonly #forgetListeners = new Set<() => void>()
  #forgetCount = 0
  #closed: string | undefined

  constructor(options: ApprovalsOptions) {
    this.#options = options
  }

  get pending(): readonly PendingApproval[] {
    return [...this.#waiting.values()].map(({ approval }) => approval)
  }

  onChange(listener: (change: ApprovalChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Called when nothing counts any more that was approved so far. */
  onForget(listener: () => void): void {
    this.#forgetListeners.add(listener)
  }

  /** Whatever was approved so far, for a session or for a call to come, needs another approval. */
  forget(): void {
    this.#forgetCount++
    this.#grants.clear()
    for (const listener of this.#forgetListeners) listener()
  }

  /** One that waits. Throws APPROVAL_SETTLED or APPROVAL_UNKNOWN for any other. */
  async find(id: string): Promise<PendingApproval> {
    await this.#untilRecorded(id)
    const waiting = this.#waiting.get(id)
    if (waiting) return waiting.approval
    throw this.#notPendingError(id, this.#settled.get(id))
  }

  /** One of an earlier gateway is over, whoever still wants to answer it. */
  markSettled(id: string, how: string): void {
    if (!this.#waiting.has(id)) setBounded(this.#settled, [id, how], MAX_SETTLED)
  }

  /** What was approved for the rest of the session, if it was exactly this. */
  grantFor(subject: GrantSubject): Grant | undefined {
    return this.#grants.size === 0 ? undefined : this.#grants.get(grantKey(subject))
  }

  /** Waits until somebody has answered. Whatever keeps that from happening is a refusal, with its reason. */
  async request(subject: ApprovalSubject, asking: ApprovalWait): Promise<Grant | SallyportError> {
    const refusal = this.#unanswerable() ?? this.#overload(subject)
    if (refusal) return refusal
    const approval = this.#create(subject)
    // Meanwhile the gateway may have begun to stop. Whatever was recorded as waiting is recorded as over too.
    const late = (await this.#recordRequest(approval)) ?? this.#unanswerable()
    if (late) {
      this.#recordEnd(approval, late)
      return late
    }
    const outcome = this.#wait(approval, asking)
    if (this.#waiting.has(approval.id)) asking.onPending?.(approval)
    return outcome
  }

  async #recordRequest(approval: PendingApproval): Promise<SallyportError | undefined> {
    const recorded = this.#options.record(requestedEvent(approval, this.#options.argumentsToRecord(approval.arguments)))
    this.#recording.set(approval.id, { owner: toOwnerKey(approval.principal), recorded })
    try {
      await recorded
      return undefined
    } catch (error) {
      return toExpectedError(error)
    } finally {
      this.#recording.delete(approval.id)
    }
  }

  /** The first answer counts: a later one is told so. Resolves to what counts of it. */
  async answer(id: string, said: ApprovalAnswer): Promise<EffectiveAnswer> {
    await this.#untilRecorded(id)
    this.#expireLate(id)
    const waiting = this.#claim(id)
    const forgotten = this.#forgetCount
    const answer = await this.#recordAnswer(waiting.approval, said).catch((error: unknown) => {
      waiting.isAnswered = false
      this.#expireLate(id)
      throw error
    })
    // What was said before all was forgotten, and written after it, is good for this call alone.
    const scope = forgotten === this.#forgetCount ? answer.answer : 'once'
    const isInTime =
      answer.answer === 'deny' || scope === 'deny'
        ? this.#settle(waiting, deniedError(answer), `denied by ${answer.by}`)
        : this.#grant(waiting, answer, scope)
    if (!isInTime) throw this.#notPendingError(id, this.#settled.get(id))
    const notMade = answer.answer === 'deny' ? undefined : await waiting.fate?.waitForResult()
    return notMade === undefined ? answer : { ...answer, notMade }
  }

  async #recordAnswer(approval: PendingApproval, answer: ApprovalAnswer): Promise<EffectiveAnswer> {
    const { record, allowAlways } = this.#options
    const write = answer.answer === 'always' ? await allowAlways(approval, answer.by) : undefined
    // Recorded first: no rule must be relaxed that nobody can see afterwards.
    await record(answeredEvent(approval, answer))
    try {
      await write?.()
      return answer
    } catch (error) {
      // Somebody has approved this call in any case; but the log must not name a rule that is not there.
      const counted = { ...answer, answer: 'once', unwritten: toExpectedError(error).text } as const
      await record(answeredEvent(approval, counted))
      return counted
    }
  }

  /** Nobody has to answer these any more. */
  withdraw(reason: string, isMeant: (approval: PendingApproval) => boolean): void {
    for (const waiting of [...this.#waiting.values()])
      if (isMeant(waiting.approval)) this.#end(waiting, expiredError(`${reason} before anybody answered`))
  }

  close(reason: string): void {
    this.#closed = reason
    this.withdraw(reason, () => true)
  }

  async #untilRecorded(id: string): Promise<void> {
    await this.#recording.get(id)?.recorded.catch(() => undefined)
  }

  #unanswerable(): SallyportError | undefined {
    if (this.#closed !== undefined) return expiredError(`${this.#closed} before anybody answered`)
    const nobody = this.#options.nobody?.()
    if (nobody === undefined) return undefined
    return new SallyportError('APPROVAL_REQUIRED', `This call needs approval, but ${nobody}.`, {
      hint: 'It was not made.',
    })
  }

  /** Those that are being recorded have their place already: a crowd that comes at once is counted as one that comes in turn. */
  #overload({ principal }: ApprovalSubject): SallyportError | undefined {
    const owners = [...this.#recording.values()].map(({ owner }) => owner)
    for (const { approval } of this.#waiting.values()) owners.push(toOwnerKey(approval.principal))
    const owner = toOwnerKey(principal)
    const own = owners.filter((one) => one === owner).length
    if (owners.length < MAX_PENDING && own < MAX_PENDING_PER_OWNER) return undefined
    return new SallyportError('OVERLOADED', `${owners.length} calls wait for approval, ${own} of this session.`, {
      hint: 'Answer some of them: `sallyport approvals`.',
    })
  }

  #create(subject: ApprovalSubject): PendingApproval {
    const now = this.#options.now()
    const expiresAt = new Date(now + this.#options.timeout())
    return { ...subject, id: this.#options.newId(), requestedAt: new Date(now), expiresAt }
  }

  #wait(approval: PendingApproval, { cancellation, fate }: ApprovalWait): Promise<Grant | SallyportError> {
    return new Promise((settle) => {
      const patience = Math.max(0, approval.expiresAt.getTime() - this.#options.now())
      const timer = setTimeout(() => this.#expire(waiting), patience)
      const waiting: WaitingCall = { approval, settle, timer, fate, isAnswered: false }
      this.#waiting.set(approval.id, waiting)
      cancellation.onCancel((reason) => this.#end(waiting, callCancelledError(reason)))
      if (this.#waiting.has(approval.id)) this.#notify({ kind: 'requested', approval })
    })
  }

  #claim(id: string): WaitingCall {
    const waiting = this.#waiting.get(id)
    if (waiting && !waiting.isAnswered) {
      waiting.isAnswered = true
      return waiting
    }
    throw this.#notPendingError(id, waiting ? 'somebody has just answered it' : this.#settled.get(id))
  }

  #notPendingError(id: string, how: string | undefined): SallyportError {
    if (how !== undefined) return new SallyportError('APPROVAL_SETTLED', `The request ${id} is over: ${how}.`)
    return new SallyportError('APPROVAL_UNKNOWN', `There is no request for approval ${quoteText(id, 60)}.`, {
      hint: 'See `sallyport approvals` for those that wait.',
    })
  }

  #grant(waiting: WaitingCall, { by, via }: ApprovalAnswer, scope: Grant['scope']): boolean {
    const { approval } = waiting
    const grant = { approval: approval.id, scope, by, via, definition: approval.definition }
    if (scope === 'session' && this.#waiting.has(approval.id))
      setBounded(this.#grants, [grantKey(approval), grant], MAX_GRANTS)
    return this.#settle(waiting, grant, `approved by ${by}`)
  }

  /** Timers stand still while a machine sleeps: the clock decides whether there is still time. */
  #expireLate(id: string): void {
    const waiting = this.#waiting.get(id)
    if (waiting && waiting.approval.expiresAt.getTime() <= this.#options.now()) this.#expire(waiting)
  }

  /** Unless an answer is being written, which then counts. */
  #expire(waiting: WaitingCall): void {
    const { requestedAt, expiresAt } = waiting.approval
    const patience = formatDuration(expiresAt.getTime() - requestedAt.getTime())
    if (!waiting.isAnswered) this.#end(waiting, expiredError(`nobody answered within ${patience}`))
  }

  #end(waiting: WaitingCall, error: SallyportError): void {
    if (this.#settle(waiting, error, error.message)) this.#recordEnd(waiting.approval, error)
  }

  /** The call is refused whether or not this can be recorded; its refusal is a record of its own. */
  #recordEnd(approval: PendingApproval, { message }: SallyportError): void {
    this.#options.record(expiredEvent(approval, message)).catch(() => undefined)
  }

  /** False when it was over already. */
  #settle(waiting: WaitingCall, outcome: Grant | SallyportError, how: string): boolean {
    const { approval, timer, settle } = waiting
    if (!this.#waiting.delete(approval.id)) return false
    clearTimeout(timer)
    setBounded(this.#settled, [approval.id, how], MAX_SETTLED)
    settle(outcome)
    this.#notify({ kind: 'settled', approval })
    return true
  }

  #notify(change: ApprovalChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}

/** The oldest make room. */
function setBounded<Value>(shelf: Map<string, Value>, [key, value]: readonly [string, Value], most: number): void {
  const [oldest] = shelf.keys()
  if (shelf.size >= most && oldest !== undefined) shelf.delete(oldest)
  shelf.set(key, value)
}

type GrantSubject = Pick<ApprovalSubject, 'principal' | 'tool' | 'arguments' | 'definition'>

/** An approval is good for one session, one tool as it is defined now, and these very arguments. */
export function grantKey({ principal, tool, arguments: args, definition }: GrantSubject): string {
  const bound = canonicalJson([toOwnerKey(principal), principal.agent, principal.profile, tool, definition, args])
  return createHash('sha256').update(bound).digest('base64url')
}

const deniedError = ({ by, why }: ApprovalAnswer): SallyportError =>
  new SallyportError('APPROVAL_DENIED', `${by} did not approve this call${why ? `: ${endSentence(why)}` : '.'}`, {
    hint: 'It was not made.',
  })

/** People end what they write with a full stop or without one; another sentence follows. */
const endSentence = (text: string): string => (/[.!?…]\s*$/.test(text) ? text : `${text}.`)

const expiredError = (why: string): SallyportError =>
  new SallyportError('APPROVAL_EXPIRED', `This call needs approval, but ${why}.`, { hint: 'It was not made.' })

function toExpectedError(error: unknown): SallyportError {
  if (error instanceof SallyportError) return error
  throw error
}

function toCallFacts({ principal, ...subject }: ApprovalSubject): CallFacts {
  return {
    call_id: subject.callId,
    trace_id: subject.traceId,
    user: principal.user,
    agent: principal.agent,
    profile: principal.profile,
    session: principal.session,
    server: subject.server,
    method: subject.method,
    tool_name: subject.tool,
    is_mcp: subject.isMcp,
  }
}

function requestedEvent(approval: PendingApproval, kept: Json | undefined): SallyportEvent {
  return {
    type: 'APPROVAL_REQUESTED',
    ...toCallFacts(approval),
    approval: approval.id,
    reason: approval.reason,
    risk: approval.risk,
    expires: approval.expiresAt.toISOString(),
    ...(approval.rule && { rule: approval.rule }),
    ...(kept !== undefined && { arguments: kept }),
  }
}

function answeredEvent(approval: PendingApproval, counted: EffectiveAnswer): SallyportEvent {
  const { answer, by, via, why, unwritten } = counted
  const more = { ...(why !== undefined && { why }), ...(unwritten !== undefined && { unwritten }) }
  const said = { approval: approval.id, answer, by, via, ...more }
  return { type: 'APPROVAL_ANSWERED', ...toCallFacts(approval), ...said }
}

const expiredEvent = (approval: PendingApproval, reason: string): SallyportEvent => ({
  ...{ type: 'APPROVAL_EXPIRED', ...toCallFacts(approval), approval: approval.id },
  reason,
})
