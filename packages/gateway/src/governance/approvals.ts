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
  /** Resolves when the event is on disk. Rejects if it cannot be written. */
  readonly record: (event: SallyportEvent) => Promise<void>
  readonly timeout: () => number
  /** The part of the arguments that is recorded. */
  readonly argumentsToRecord: (args: Json) => Json | undefined
  /** Returns a function that changes tools.yaml so that approval is no longer needed. Rejects if that is not possible. */
  readonly allowAlways: (approval: PendingApproval, by: string) => Promise<() => Promise<void>>
  /** Why nobody can answer; `undefined` if somebody may be able to. */
  readonly nobody?: () => string | undefined
  readonly newId: () => string
  readonly now: () => number
}

export type ApprovalChange = { readonly kind: 'requested' | 'settled'; readonly approval: PendingApproval }

/** A caller may be controlled by an attacker, so the number of pending requests is limited. */
const MAX_PENDING = 1_000
const MAX_PENDING_PER_OWNER = 100
const MAX_GRANTS = 10_000
const MAX_SETTLED = 1_000

export interface ApprovalWait {
  readonly cancellation: Cancellation
  /** Called once the request is pending. */
  readonly onPending?: (approval: PendingApproval) => void
  /** Follows the call after its approval, so that the approver learns whether it was made. */
  readonly tracker?: CallTracker | undefined
}

interface WaitingCall {
  readonly approval: PendingApproval
  readonly settle: (outcome: Grant | SallyportError) => void
  readonly timer: NodeJS.Timeout
  readonly tracker: CallTracker | undefined
  /** An answer is being recorded: only the first answer is valid. */
  isAnswered: boolean
}

/** Calls that wait for a person. They hold no other resources while they wait. Any failure refuses the call. */
export class Approvals {
  readonly #options: ApprovalsOptions
  readonly #waiting = new Map<string, WaitingCall>()
  /** Requests that are being recorded. A reader of the log may know one before the write is confirmed. */
  readonly #recording = new Map<string, { readonly owner: string; readonly recorded: Promise<void> }>()
  /** Grants for the rest of a session, by the exact call that was approved. */
  readonly #grants = new Map<string, Grant>()
  /** How earlier requests ended, for answers that come too late. */
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

  /** Called when all earlier approvals become invalid. */
  onForget(listener: () => void): void {
    this.#forgetListeners.add(listener)
  }

  /** Makes all earlier approvals invalid, for sessions and for calls that have not been repeated yet. */
  forget(): void {
    this.#forgetCount++
    this.#grants.clear()
    for (const listener of this.#forgetListeners) listener()
  }

  /** The pending requests, also those that a reader of the log knows and that are not confirmed yet. */
  async list(): Promise<readonly PendingApproval[]> {
    await Promise.all([...this.#recording.keys()].map((id) => this.#untilRecorded(id)))
    return this.pending
  }

  /** Returns a pending request. Throws APPROVAL_SETTLED or APPROVAL_UNKNOWN for any other id. */
  async find(id: string): Promise<PendingApproval> {
    await this.#untilRecorded(id)
    const waiting = this.#waiting.get(id)
    if (waiting) return waiting.approval
    throw this.#notPendingError(id, this.#settled.get(id))
  }

  /** Marks a request of an earlier gateway as settled, so that late answers get an explanation. */
  markSettled(id: string, how: string): void {
    if (!this.#waiting.has(id)) setBounded(this.#settled, [id, how], MAX_SETTLED)
  }

  /** The grant for the rest of the session, if exactly this call was approved. */
  grantFor(subject: GrantSubject): Grant | undefined {
    return this.#grants.size === 0 ? undefined : this.#grants.get(grantKey(subject))
  }

  /** Waits for an answer. If none is possible, it returns a refusal with the reason. */
  async request(subject: ApprovalSubject, wait: ApprovalWait): Promise<Grant | SallyportError> {
    const refusal = this.#unanswerable() ?? this.#overload(subject)
    if (refusal) return refusal
    const approval = this.#create(subject)
    // The gateway may have started to stop in the meantime. Every recorded request also gets a recorded end.
    const late = (await this.#recordRequest(approval)) ?? this.#unanswerable()
    if (late) {
      this.#recordEnd(approval, late)
      return late
    }
    const outcome = this.#wait(approval, wait)
    if (this.#waiting.has(approval.id)) wait.onPending?.(approval)
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

  /** Only the first answer is valid; a later one throws. Resolves to the answer that takes effect. */
  async answer(id: string, given: ApprovalAnswer): Promise<EffectiveAnswer> {
    await this.#untilRecorded(id)
    this.#expireLate(id)
    this.#assertScope(id, given)
    const waiting = this.#claim(id)
    const forgotten = this.#forgetCount
    const answer = await this.#recordAnswer(waiting.approval, given).catch((error: unknown) => {
      waiting.isAnswered = false
      this.#expireLate(id)
      throw error
    })
    // If approvals were made invalid while this answer was being recorded, it is valid for this call only.
    const scope = forgotten === this.#forgetCount ? answer.answer : 'once'
    const isInTime =
      answer.answer === 'deny' || scope === 'deny'
        ? this.#settle(waiting, deniedError(answer), `denied by ${answer.by}`)
        : this.#grant(waiting, answer, scope)
    if (!isInTime) throw this.#notPendingError(id, this.#settled.get(id))
    const callError = answer.answer === 'deny' ? undefined : await waiting.tracker?.waitForResult()
    return callError === undefined ? answer : { ...answer, callError }
  }

  /** Private data goes out with one call that a person has read, and with no other. */
  #assertScope(id: string, { answer }: ApprovalAnswer): void {
    if (answer === 'deny' || answer === 'once' || !this.#waiting.get(id)?.approval.isForPrivateData) return
    throw new SallyportError(
      'ALWAYS_REFUSED',
      `The request ${id} may send private data out: approve it once, or deny it.`,
      {
        hint: 'Each further call needs an approval of its own.',
      },
    )
  }

  async #recordAnswer(approval: PendingApproval, answer: ApprovalAnswer): Promise<EffectiveAnswer> {
    const { record, allowAlways } = this.#options
    const write = answer.answer === 'always' ? await allowAlways(approval, answer.by) : undefined
    // Recorded first, so that no rule is relaxed without a record.
    await record(answeredEvent(approval, answer))
    try {
      await write?.()
      return answer
    } catch (error) {
      // The call itself is approved, but the log must not claim that a rule was written.
      const effective = { ...answer, answer: 'once', unwritten: toExpectedError(error).text } as const
      await record(answeredEvent(approval, effective))
      return effective
    }
  }

  /** Ends the matching requests: they need no answer any more. */
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
      hint: 'The call was not made.',
    })
  }

  /** Requests that are being recorded count too, so that many simultaneous calls cannot exceed the limit. */
  #overload({ principal }: ApprovalSubject): SallyportError | undefined {
    const owners = [...this.#recording.values()].map(({ owner }) => owner)
    for (const { approval } of this.#waiting.values()) owners.push(toOwnerKey(approval.principal))
    const owner = toOwnerKey(principal)
    const own = owners.filter((one) => one === owner).length
    if (owners.length < MAX_PENDING && own < MAX_PENDING_PER_OWNER) return undefined
    return new SallyportError(
      'OVERLOADED',
      `${owners.length} calls are waiting for approval, ${own} of them from this session.`,
      {
        hint: 'Answer some of them: `sallyport approvals`.',
      },
    )
  }

  #create(subject: ApprovalSubject): PendingApproval {
    const now = this.#options.now()
    const expiresAt = new Date(now + this.#options.timeout())
    return { ...subject, id: this.#options.newId(), requestedAt: new Date(now), expiresAt }
  }

  #wait(approval: PendingApproval, { cancellation, tracker }: ApprovalWait): Promise<Grant | SallyportError> {
    return new Promise((settle) => {
      const timeoutMs = Math.max(0, approval.expiresAt.getTime() - this.#options.now())
      const timer = setTimeout(() => this.#expire(waiting), timeoutMs)
      const waiting: WaitingCall = { approval, settle, timer, tracker, isAnswered: false }
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
    if (how !== undefined)
      return new SallyportError('APPROVAL_SETTLED', `The request ${id} is already settled: ${how}.`)
    return new SallyportError('APPROVAL_UNKNOWN', `There is no approval request ${quoteText(id, 60)}.`, {
      hint: '`sallyport approvals` lists the pending requests.',
    })
  }

  #grant(waiting: WaitingCall, { by, via }: ApprovalAnswer, scope: Grant['scope']): boolean {
    const { approval } = waiting
    const { id, definition, isForPrivateData } = approval
    const grant: Grant = { approval: id, scope, by, via, definition, ...(isForPrivateData && { isForPrivateData }) }
    if (scope === 'session' && this.#waiting.has(approval.id))
      setBounded(this.#grants, [grantKey(approval), grant], MAX_GRANTS)
    return this.#settle(waiting, grant, `approved by ${by}`)
  }

  /** Timers stop while a machine sleeps, so the clock decides whether the request has expired. */
  #expireLate(id: string): void {
    const waiting = this.#waiting.get(id)
    if (waiting && waiting.approval.expiresAt.getTime() <= this.#options.now()) this.#expire(waiting)
  }

  /** Does nothing while an answer is being recorded: that answer takes effect. */
  #expire(waiting: WaitingCall): void {
    const { requestedAt, expiresAt } = waiting.approval
    const timeout = formatDuration(expiresAt.getTime() - requestedAt.getTime())
    if (!waiting.isAnswered) this.#end(waiting, expiredError(`nobody answered within ${timeout}`))
  }

  #end(waiting: WaitingCall, error: SallyportError): void {
    if (this.#settle(waiting, error, error.message)) this.#recordEnd(waiting.approval, error)
  }

  /** The call is refused even if this cannot be recorded: the refusal itself is recorded separately. */
  #recordEnd(approval: PendingApproval, { message }: SallyportError): void {
    this.#options.record(expiredEvent(approval, message)).catch(() => undefined)
  }

  /** Returns false if the request was already settled. */
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

/** Adds an entry and removes the oldest one if the map is full. */
function setBounded<Value>(map: Map<string, Value>, [key, value]: readonly [string, Value], max: number): void {
  const [oldest] = map.keys()
  if (map.size >= max && oldest !== undefined) map.delete(oldest)
  map.set(key, value)
}

type GrantSubject = Pick<ApprovalSubject, 'principal' | 'server' | 'method' | 'tool' | 'arguments' | 'definition'>

/**
 * An approval is valid for one caller, one request of one server with its current definition, and exactly these
 * arguments. The server is named: two servers may have equal prompts, resources and questions.
 */
export function grantKey({ principal, server, method, tool, arguments: args, definition }: GrantSubject): string {
  const caller = [toOwnerKey(principal), principal.agent, principal.profile]
  const bound = canonicalJson([caller, server, method, tool, definition, args])
  return createHash('sha256').update(bound).digest('base64url')
}

const deniedError = ({ by, why }: ApprovalAnswer): SallyportError =>
  new SallyportError('APPROVAL_DENIED', `${by} did not approve this call${why ? `: ${endSentence(why)}` : '.'}`, {
    hint: 'The call was not made.',
  })

/** Ends a reason with a full stop, because another sentence follows. */
const endSentence = (text: string): string => (/[.!?…]\s*$/.test(text) ? text : `${text}.`)

const expiredError = (why: string): SallyportError =>
  new SallyportError('APPROVAL_EXPIRED', `This call needs approval, but ${why}.`, { hint: 'The call was not made.' })

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

function requestedEvent(approval: PendingApproval, args: Json | undefined): SallyportEvent {
  return {
    type: 'APPROVAL_REQUESTED',
    ...toCallFacts(approval),
    approval: approval.id,
    reason: approval.reason,
    risk: approval.risk,
    expires: approval.expiresAt.toISOString(),
    ...(approval.rule && { rule: approval.rule }),
    ...(approval.isForPrivateData && { for_private_data: true }),
    ...(args !== undefined && { arguments: args }),
  }
}

function answeredEvent(approval: PendingApproval, effective: EffectiveAnswer): SallyportEvent {
  const { answer, by, via, why, unwritten } = effective
  const more = { ...(why !== undefined && { why }), ...(unwritten !== undefined && { unwritten }) }
  const facts = { approval: approval.id, answer, by, via, ...more }
  return { type: 'APPROVAL_ANSWERED', ...toCallFacts(approval), ...facts }
}

const expiredEvent = (approval: PendingApproval, reason: string): SallyportEvent => ({
  ...{ type: 'APPROVAL_EXPIRED', ...toCallFacts(approval), approval: approval.id },
  reason,
})
