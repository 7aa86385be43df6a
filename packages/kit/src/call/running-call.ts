import { isJsonObject, type JsonObject } from '@sallyport/core'
import type { Answer } from '../json-rpc.ts'
import { ToolRetryError, WithheldError } from '../tool-error.ts'
import type { ActiveRequest, CallChannel } from './call-context.ts'
import type { CallBinding, ParkedCalls } from './parked-calls.ts'
import { assertCanAsk, type Question } from './question.ts'

/** One request that carries a call: the only one, or one of several where a modern client comes back with answers. */
export interface RoundTrip extends ActiveRequest {
  /** Answers that came with the request, by the keys of their questions. */
  readonly responses: JsonObject
  /** How a client of the legacy era is asked; one of the modern era has to come back with the answer. */
  readonly push: ((question: Question, signal: AbortSignal) => Promise<JsonObject>) | undefined
  answer(answer: Answer): void
}

interface OpenQuestion {
  readonly question: Question
  readonly resolve: (answer: JsonObject) => void
  readonly reject: (error: unknown) => void
}

export interface RunningCallOptions {
  readonly roundTrip: RoundTrip
  readonly logger: string
  readonly parked: ParkedCalls
  readonly createBinding: () => CallBinding
  /** Nothing that the handler says may reach the client: it may be private, and nothing durable says so. */
  readonly isWithheld: () => boolean
  /** Waits until what the handler said of private data is durable, or has failed. */
  readonly settle: () => Promise<void>
}

/**
 * A handler at work. In the modern era it stays where it is while its client fetches an answer, so that what it did
 * before the question is not done again.
 */
export class RunningCall implements CallChannel {
  readonly logger: string
  readonly #parked: ParkedCalls
  readonly #createBinding: () => CallBinding
  readonly #isWithheld: () => boolean
  readonly #settle: () => Promise<void>
  readonly #abort = new AbortController()
  readonly #openQuestions = new Map<string, OpenQuestion>()
  #roundTrip: RoundTrip | undefined
  #capabilities: JsonObject
  #responses: JsonObject
  #askedCount = 0
  #outcome: Answer | undefined

  constructor({ roundTrip, logger, parked, createBinding, isWithheld, settle }: RunningCallOptions) {
    this.logger = logger
    this.#parked = parked
    this.#createBinding = createBinding
    this.#isWithheld = isWithheld
    this.#settle = settle
    this.#roundTrip = roundTrip
    this.#capabilities = roundTrip.capabilities
    this.#responses = roundTrip.responses
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get activeRequest(): RoundTrip | undefined {
    return this.#isWithheld() ? undefined : this.#roundTrip
  }

  get capabilities(): JsonObject {
    return this.#capabilities
  }

  /** The client has come back. */
  resume(round: RoundTrip): void {
    this.#roundTrip = round
    this.#capabilities = round.capabilities
    this.#responses = round.responses
    if (this.#outcome !== undefined) return round.answer(this.#outcome)
    for (const [key, { resolve }] of this.#openQuestions) {
      const response = this.#takeResponse(key)
      if (response === undefined) continue
      this.#openQuestions.delete(key)
      resolve(response)
    }
    if (this.#openQuestions.size > 0) this.#schedulePark()
  }

  finish(outcome: Answer): void {
    this.#outcome = outcome
    this.#openQuestions.clear()
    this.#roundTrip?.answer(outcome)
  }

  cancel(): void {
    this.#roundTrip = undefined
    this.#abort.abort()
    for (const { reject } of this.#openQuestions.values()) reject(this.signal.reason)
    this.#openQuestions.clear()
  }

  async ask(question: Question): Promise<JsonObject> {
    this.signal.throwIfAborted()
    if (this.#isWithheld()) await this.#awaitStatements()
    assertCanAsk(question, this.#capabilities)
    if (this.#roundTrip?.push !== undefined) return this.#roundTrip.push(question, this.signal)
    const key = this.#chooseKey(question)
    return this.#takeResponse(key) ?? this.#waitForAnswer(key, question)
  }

  /** The words of a question may be private as well. */
  async #awaitStatements(): Promise<void> {
    await this.#settle().catch(() => undefined)
    this.signal.throwIfAborted()
    if (this.#isWithheld()) throw new WithheldError('A statement about private data failed, so nothing more is asked.')
  }

  #waitForAnswer(key: string, question: Question): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      this.#openQuestions.set(key, { question, resolve, reject })
      this.#schedulePark()
    })
  }

  /** Questions that are asked in the same turn, as with Promise.all, are asked together. */
  #schedulePark(): void {
    setImmediate(() => this.#park())
  }

  #park(): void {
    const round = this.#roundTrip
    if (round === undefined || this.#openQuestions.size === 0) return
    const requestState = this.#parked.park(this, this.#createBinding())
    if (requestState === undefined) return this.#rejectAll()
    this.#roundTrip = undefined
    const inputRequests = Object.fromEntries(
      [...this.#openQuestions].map(([key, { question }]) => [
        key,
        { method: question.method, params: question.params },
      ]),
    )
    round.answer({ result: { inputRequests, requestState }, resultType: 'input_required' })
  }

  #rejectAll(): void {
    const error = new ToolRetryError('Too many calls wait for answers already. Answer or cancel some of them first.')
    for (const { reject } of this.#openQuestions.values()) reject(error)
    this.#openQuestions.clear()
  }

  #chooseKey({ key }: Question): string {
    this.#askedCount++
    if (key === undefined) return `question_${this.#askedCount}`
    return this.#openQuestions.has(key) ? `${key}_${this.#askedCount}` : key
  }

  /** An answer is good for one question. */
  #takeResponse(key: string): JsonObject | undefined {
    const { [key]: response, ...others } = this.#responses
    if (!Object.hasOwn(this.#responses, key) || !isJsonObject(response)) return undefined
    this.#responses = others
    return response
  }
}
