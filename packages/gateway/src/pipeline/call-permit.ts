import { MAY_HAVE_RUN_HINT, SallyportError } from '@sallyport/core'
import { isQuarantined } from '../isolation/isolation.ts'
import type { CallWatch } from '../telemetry/telemetry.ts'
import type { Permit } from '../upstream/upstream.ts'
import type { Call } from './call.ts'
import type { ToolRules } from './rules/tool-rules.ts'
import type { CallDecider, CallDeciderOptions, JudgedCall } from './steps/call-decider.ts'

/** The options that all permits share. */
export interface CallPermitOptions {
  readonly decider: CallDecider
  readonly rulesOf: CallDeciderOptions['rulesOf']
  /** Whether the token with this id is neither revoked nor expired. */
  readonly isTokenValid: (token: string) => boolean
  /** Resolves when nothing of the session reaches more than it may; `undefined` if nothing does. */
  readonly narrowed: (call: Call) => Promise<void> | undefined
  /** Records the refusal. Resolves to the error for the caller. */
  readonly refuse: (judged: JudgedCall, error?: SallyportError) => Promise<SallyportError>
}

interface PermittedCall {
  readonly asked: Call
  readonly judged: JudgedCall
  readonly watch?: CallWatch | undefined
}

/** The right to send an allowed call. It is valid until the rules, the offers of servers or the token change. */
export class CallPermit implements Permit {
  readonly #options: CallPermitOptions
  readonly #permitted: PermittedCall
  #judged: JudgedCall
  /** The rules by which the call is written to its server. */
  #sendingRules: ToolRules
  #refusing: Promise<SallyportError> | undefined
  #wasSent = false
  #wasResent = false
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

  onResent(): void {
    this.#wasResent = true
  }

  /** It was sent twice, because its server had forgotten the session. */
  get wasResent(): boolean {
    return this.#wasResent
  }

  async renew(): Promise<SallyportError | undefined> {
    if (this.#hasEnded) return callEnded()
    if (!this.hasValidToken) return this.#refuse(this.#judged, tokenEnded(this.#wasSent))
    const { asked, judged, watch } = this.#permitted
    const { grant, rules: counted, raised } = judged.context
    const now = await this.#options.decider.recheck(asked, { grant, counted, raised })
    if (this.#hasEnded) return callEnded()
    if (now.decision.outcome !== 'allow') {
      watch?.decided(now.decision, now.context.call)
      return this.#refuse(now)
    }
    const tooWide = await this.#waitUntilNarrowed()
    if (tooWide !== undefined) return this.#refuse(now, tooWide)
    if (needsRewriting(this.#sendingRules, now.context.rules)) return this.#refuse(now, rulesChanged(this.#wasSent))
    this.#judged = now
    return undefined
  }

  async #waitUntilNarrowed(): Promise<SallyportError | undefined> {
    try {
      await this.#options.narrowed(this.#permitted.asked)
      return undefined
    } catch (error) {
      if (error instanceof SallyportError) return error
      throw error
    }
  }

  /** Ends the permit: after this it records no refusal. Returns the refusal, if there was one. */
  end(): Promise<SallyportError> | undefined {
    this.#hasEnded = true
    return this.#refusing
  }

  /** The call with the current rules: a call may take long, and what was forbidden meanwhile must stay forbidden. */
  get current(): JudgedCall {
    if (this.#options.decider.isStillValid(this.#judged)) return this.#judged
    const { context: subject } = this.#judged
    return { ...this.#judged, context: { ...subject, rules: this.#options.rulesOf(subject.call.offer) } }
  }

  /** The current rules, which are used to write the call from now on. */
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

/** Whether the request, which was serialized earlier, would have to be different under the current rules. */
const needsRewriting = (before: ToolRules, now: ToolRules): boolean =>
  (now.policy.secrets.value === 'redact' && before.policy.secrets.value !== 'redact') ||
  (isQuarantined(now.shaping.plan) && !isQuarantined(before.shaping.plan))

/** A call with several rounds may have reached its server before. */
const tokenEnded = (wasSent: boolean): SallyportError =>
  new SallyportError('UNAUTHENTICATED', 'The token of this call was revoked, or expired, while the call waited.', {
    hint: wasSent ? MAY_HAVE_RUN_HINT : 'The call was not made.',
  })

const rulesChanged = (wasSent: boolean): SallyportError =>
  new SallyportError('CALL_DENIED', 'The rules for what may be sent to this tool changed while the call waited.', {
    hint: wasSent
      ? MAY_HAVE_RUN_HINT
      : 'The call was not made. Make it again: it is then sent under the current rules.',
  })

/** The end of the call is recorded already, so this is not recorded. */
const callEnded = (): SallyportError => new SallyportError('CALL_CANCELLED', 'Nobody is waiting for the call any more.')
