import { MAY_HAVE_RUN_HINT, SallyportError } from '@sallyport/core'
import { isQuarantined } from '../isolation/isolation.ts'
import type { CallWatch } from '../telemetry/telemetry.ts'
import type { Permit } from '../upstream/upstream.ts'
import type { Call } from './call.ts'
import type { ToolRules } from './rules/tool-rules.ts'
import type { CallDecider, CallDeciderOptions, JudgedCall } from './steps/call-decider.ts'

/** What the permits of all calls share. */
export interface CallPermitOptions {
  readonly decider: CallDecider
  readonly rulesOf: CallDeciderOptions['rulesOf']
  /** Whether the minted token of this id was neither revoked nor has expired. */
  readonly isTokenValid: (token: string) => boolean
  /** Records the refusal. Resolves to what the caller is answered. */
  readonly refuse: (judged: JudgedCall, error?: SallyportError) => Promise<SallyportError>
}

interface PermittedCall {
  readonly asked: Call
  /** How it was judged. */
  readonly judged: JudgedCall
  readonly watch?: CallWatch | undefined
}

/** The right to send a call that was allowed, as long as the rules, what servers offer and its token are the same. */
export class CallPermit implements Permit {
  readonly #options: CallPermitOptions
  readonly #permitted: PermittedCall
  #judged: JudgedCall
  /** What decides how the call is written. */
  #sendingRules: ToolRules
  #refusing: Promise<SallyportError> | undefined
  #wasSent = false
  #hasEnded = false

  constructor(given: PermittedCall, options: CallPermitOptions) {
    this.#permitted = given
    this.#options = options
    this.#judged = given.judged
    this.#sendingRules = given.judged.context.rules
  }

  get isCurrent(): boolean {
    return this.#options.decider.isStillValid(this.#judged) && this.hasValidToken
  }

  onSent(): void {
    this.#wasSent = true
    this.#permitted.asked.onSent?.()
  }

  async renew(): Promise<SallyportError | undefined> {
    if (this.#hasEnded) return callEnded()
    if (!this.hasValidToken) return this.#refuse(this.#judged, tokenEnded(this.#wasSent))
    const { asked, judged, watch } = this.#permitted
    const { grant, rules: counted } = judged.context
    const now = await this.#options.decider.recheck(asked, { grant, counted })
    if (this.#hasEnded) return callEnded()
    if (now.decision.outcome !== 'allow') {
      watch?.decided(now.decision, now.context.call)
      return this.#refuse(now)
    }
    if (needsRewriting(this.#sendingRules, now.context.rules)) return this.#refuse(now, rulesChanged(this.#wasSent))
    this.#judged = now
    return undefined
  }

  /** It was answered, given up or refused: nothing more is recorded of it here. Why it was refused, where it was. */
  end(): Promise<SallyportError> | undefined {
    this.#hasEnded = true
    return this.#refusing
  }

  /** The call with the rules that are in force now: it may take long, and what was forbidden meanwhile is forbidden. */
  get current(): JudgedCall {
    if (this.#options.decider.isStillValid(this.#judged)) return this.#judged
    const { context: subject } = this.#judged
    return { ...this.#judged, context: { ...subject, rules: this.#options.rulesOf(subject.call.offer) } }
  }

  /** The rules by which it is written from now on. */
  rulesForSending(): ToolRules {
    this.#sendingRules = this.current.context.rules
    return this.#sendingRules
  }

  get hasValidToken(): boolean {
    const { token } = this.#permitted.asked.principal
    return token === undefined || this.#options.isTokenValid(token)
  }

  #refuse(judged: JudgedCall, error?: SallyportError): Promise<SallyportError> {
    this.#refusing ??= this.#options.refuse(judged, error)
    return this.#refusing
  }
}

/** Whether the text of the request, which was printed before, is not what the rules want by now. */
const needsRewriting = (before: ToolRules, now: ToolRules): boolean =>
  (now.policy.secrets.value === 'redact' && before.policy.secrets.value !== 'redact') ||
  (isQuarantined(now.shaping.plan) && !isQuarantined(before.shaping.plan))

/** A call with several rounds may have reached its server before. */
const tokenEnded = (wasSent: boolean): SallyportError =>
  new SallyportError('UNAUTHENTICATED', 'The token of this call was revoked, or expired, while the call waited.', {
    hint: wasSent ? MAY_HAVE_RUN_HINT : 'It was not made.',
  })

const rulesChanged = (wasSent: boolean): SallyportError =>
  new SallyportError('CALL_DENIED', 'What may be sent to this tool was changed while the call waited.', {
    hint: wasSent ? MAY_HAVE_RUN_HINT : 'It was not made. Make it again: then it is sent as the rules want it now.',
  })

/** Its end is recorded: nothing more is said of it. */
const callEnded = (): SallyportError => new SallyportError('CALL_CANCELLED', 'Nobody waits for the call any more.')
