import { setTimeout as delay } from 'node:timers/promises'
import { messageOf, SallyportError } from '@sallyport/core'
import type { GovernanceSettings } from '../config/config.ts'
import type { EffectiveAnswer, PendingApproval } from './approval.ts'
import { toApprovalView } from './approval-view.ts'
import type { Approvals } from './approvals.ts'
import { readHookAnswer } from './hook-answer.ts'
import { HookPoster, type HookReply } from './hook-post.ts'
import { isSigned, SIGNATURE_HEADER, type SignedMessage, signatureHeaders } from './hook-signature.ts'

type HookSettings = NonNullable<GovernanceSettings['approvalHook']>

export interface ApprovalHookOptions {
  readonly approvals: Pick<Approvals, 'answer' | 'onChange'>
  /** Asked for each request; nothing where no hook is configured. */
  readonly settings: () => HookSettings | undefined
  /** Where an answer can be sent later; nothing while no port is open. */
  readonly answerUrl: (id: string) => string | undefined
  readonly now: () => number
  readonly onWarning: (text: string) => void
  /** How long to wait before each further try. */
  readonly pauses?: readonly number[]
}

const RETRY_DELAYS_MS: readonly number[] = [500, 2_000]

/** Sends every request for approval to a web hook, and takes its signed answers. Nobody waits for it. */
export class ApprovalHook {
  readonly #options: ApprovalHookOptions
  readonly #poster = new HookPoster()
  /** Deliveries under way, by the request. */
  readonly #inFlight = new Map<string, AbortController>()
  readonly #stop: () => void
  /** What went wrong last: it is told once, until something goes well again. */
  #lastProblem: string | undefined

  constructor(options: ApprovalHookOptions) {
    this.#options = options
    this.#stop = options.approvals.onChange(({ kind, approval }) => {
      if (kind === 'settled') return this.#inFlight.get(approval.id)?.abort()
      const settings = options.settings()
      if (settings) void this.#deliver(approval, settings)
    })
  }

  /** An answer that came later. The signature is the credential: without a configured secret nobody has one. */
  async acceptAnswer(id: string, signed: SignedMessage): Promise<EffectiveAnswer> {
    const settings = this.#options.settings()
    if (!settings) throw new SallyportError('FORBIDDEN', 'No web hook is configured that could answer.')
    if (!isSigned(signed, { secret: settings.secret, now: this.#options.now() }))
      throw new SallyportError('UNAUTHENTICATED', 'The signature does not fit, or is too old.', {
        hint: 'Sign "<timestamp>.<body>" with the secret of governance.approval_hook; docs/approvals.md shows how.',
      })
    return this.#options.approvals.answer(id, readHookAnswer(signed.body, id))
  }

  close(): void {
    this.#stop()
    for (const delivery of this.#inFlight.values()) delivery.abort()
    this.#poster.close()
  }

  async #deliver(approval: PendingApproval, settings: HookSettings): Promise<void> {
    const delivery = new AbortController()
    this.#inFlight.set(approval.id, delivery)
    try {
      const reply = await this.#send(approval, settings, delivery.signal)
      if (isAnswer(reply)) await this.#applyReply(approval, reply, settings)
      this.#lastProblem = undefined
    } catch (error) {
      // Somebody else has answered meanwhile.
      if (!delivery.signal.aborted && !isSettled(error)) this.#warn(messageOf(error))
    } finally {
      this.#inFlight.delete(approval.id)
    }
  }

  async #send(approval: PendingApproval, { url, secret }: HookSettings, signal: AbortSignal): Promise<HookReply> {
    const { answerUrl, now, pauses = RETRY_DELAYS_MS } = this.#options
    const answer_url = answerUrl(approval.id)
    const body = Buffer.from(JSON.stringify({ ...toApprovalView(approval), ...(answer_url && { answer_url }) }))
    for (let tries = 0; ; tries++) {
      const post = { url, body, signal, headers: signatureHeaders(body, { secret, now: now() }) }
      const reply = await this.#poster.post(post).catch(asError)
      if (!(reply instanceof Error) && reply.status >= 200 && reply.status < 300) return reply
      signal.throwIfAborted()
      const pause = pauses[tries]
      if (pause === undefined) throw reply instanceof Error ? reply : new Error(`it answered with ${reply.status}`)
      await delay(pause, undefined, { signal })
    }
  }

  /** An answer that comes at once, in the reply. */
  async #applyReply(approval: PendingApproval, reply: HookReply, { secret }: HookSettings): Promise<void> {
    if (!isSigned(reply, { secret, now: this.#options.now() }))
      throw new Error('its answer is not signed as it should be, and was ignored')
    await this.#options.approvals.answer(approval.id, readHookAnswer(reply.body, approval.id))
  }

  #warn(trouble: string): void {
    if (this.#lastProblem === trouble) return
    this.#lastProblem = trouble
    this.#options.onWarning(
      `The web hook for approvals does not work: ${trouble}. Calls can be approved in other ways.`,
    )
  }
}

/** Many receivers say that they have understood, and mean no more by it. */
const isAnswer = ({ headers, body }: HookReply): boolean =>
  headers[SIGNATURE_HEADER] !== undefined || body.includes('"answer"')

const isSettled = (error: unknown): boolean => error instanceof SallyportError && error.code === 'APPROVAL_SETTLED'

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))
