import { MAY_BE_DONE, SallyportError } from '@sallyport/core'
import { isQuarantined } from '../isolation/isolation.ts'
import type { CallWatch } from '../telemetry/telemetry.ts'
import type { Permit } from '../upstream/upstream.ts'
import type { Call } from './call.ts'
import type { Judge, JudgeOptions, Trial } from './judge.ts'
import type { ToolRules } from './tool-rules.ts'

/** What the permits of all calls share. */
export interface CallPermitOptions {
  readonly judge: Judge
  readonly rulesOf: JudgeOptions['rulesOf']
  /** Whether the minted token of this id was neither revoked nor has expired. */
  readonly isTokenValid: (token: string) => boolean
  /** Records the refusal. Resolves to what the caller is answered. */
  readonly refuse: (judged: Trial, error?: SallyportError) => Promise<SallyportError>
}

interface PermittedCall {
  readonly asked: Call
  /** How it was judged. */
  readonly trial: Trial
  readonly watch?: CallWatch | undefined
}

/** The right to send a call that was allowed, as long as the rules, what servers offer and its token are the same. */
export class CallPermit implements Permit {
  readonly #options: CallPermitOptions
  readonly #given: PermittedCall
  #trial: Trial
  /** What decides how the call is written. */
  #sendingRules: ToolRules
  #refusing: Promise<SallyportError> | undefined
  #wasSent = false
  #hasEnded = false

  constructor(given: PermittedCall, options: CallPermitOptions) {
    this.#given = given
    this.#options = options
    this.#trial = given.trial
    this.#sendingRules = given.trial.case.rules
  }

  get isCurrent(): boolean {
    return this.#options.judge.holds(this.#trial) && this.hasValidToken
  }

  onSent(): void {
    this.#wasSent = true
    this.#given.asked.onSent?.()
  }

  async renew(): Promise<SallyportError | undefined> {
    if (this.#hasEnded) return callEnded()
    if (!this.hasValidToken) return this.#refuse(this.#trial, tokenEnded(this.#wasSent))
    const { asked, trial, watch } = this.#given
    const { grant, rules: counted } = trial.case
    const now = await this.#options.judge.judgeAgain(asked, { grant, counted })
    if (this.#hasEnded) return callEnded()
    if (now.decision.outcome !== 'allow') {
      watch?.decided(now.decision, now.case.call)
      return this.#refuse(now)
    }
    if (isWrittenOtherwise(this.#sendingRules, now.case.rules)) return this.#refuse(now, rulesChanged(this.#wasSent))
    this.#trial = now
    return undefined
  }

  /** It was answered, given up or refused: nothing more is recorded of it here. Why it was refused, where it was. */
  end(): Promise<SallyportError> | undefined {
    this.#hasEnded = true
    return this.#refusing
  }

  /** The call with the rules that are in force now: it may take long, and what was forbidden meanwhile is forbidden. */
  get now(): Trial {
    if (this.#options.judge.holds(this.#trial)) return this.#trial
    const { case: subject } = this.#trial
    return { ...this.#trial, case: { ...subject, rules: this.#options.rulesOf(subject.call.offer) } }
  }

  /** The rules by which it is written from now on. */
  rulesForSending(): ToolRules {
    this.#sendingRules = this.now.case.rules
    return this.#sendingRules
  }

  get hasValidToken(): boolean {
    const { token } = this.#given.asked.principal
    return token === undefined || this.#options.isTokenValid(token)
  }

  #refuse(judged: Trial, error?: SallyportError): Promise<SallyportError> {
    this.#refusing ??= this.#options.refuse(judged, error)
    return this.#refusing
  }
}

/** Whether the text of the request, which was printed before, is not what the rules want by now. */
const isWrittenOtherwise = (before: ToolRules, now: ToolRules): boolean =>
  (now.policy.secrets.value === 'redact' && before.policy.secrets.value !== 'redact') ||
  (isQuarantined(now.returns.plan) && !isQuarantined(before.returns.plan))

/** A call with several rounds may have reached its server before. */
const tokenEnded = (wasSent: boolean): SallyportError =>
  new SallyportError('UNAUTHENTICATED', 'The token of this call was revoked, or expired, while the call waited.', {
    hint: wasSent ? MAY_BE_DONE : 'It was not made.',
  })

const rulesChanged = (wasSent: boolean): SallyportError =>
  new SallyportError('CALL_DENIED', 'What may be sent to this tool was changed while the call waited.', {
    hint: wasSent ? MAY_BE_DONE : 'It was not made. Make it again: then it is sent as the rules want it now.',
  })

/** Its end is recorded: nothing more is said of it. */
const callEnded = (): SallyportError => new SallyportError('CALL_CANCELLED', 'Nobody waits for the call any more.')
