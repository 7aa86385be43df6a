import { isJsonObject, type JsonObject } from '@sallyport/core'
import type { Answer } from '../json-rpc.ts'
import { ToolRetryError, WithheldError } from '../tool-error.ts'
import type { CallCarrier, CallChannel } from './call-context.ts'
import type { Claim, ParkedCalls } from './parked-calls.ts'
import { type Question, requireAskable } from './question.ts'

/** One request that carries a call: the only one, or one of several where a modern client comes back with answers. */
export interface Round extends CallCarrier {
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
  readonly round: Round
  readonly logger: string
  readonly parked: ParkedCalls
  readonly claim: () => Claim
  /** Nothing that the handler says may reach the client: it may be private, and nothing durable says so. */
  readonly isHeld: () => boolean
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
  readonly #claim: () => Claim
  readonly #isHeld: () => boolean
  readonly #settle: () => Promise<void>
  readonly #abort = new AbortController()
  readonly #open = new Map<string, OpenQuestion>()
  #round: Round | undefined
  #capabilities: JsonObject
  #responses: JsonObject
  #asked = 0
  #outcome: Answer | undefined

  constructor({ round, logger, parked, claim, isHeld, settle }: RunningCallOptions) {
    this.logger = logger
    this.#parked = parked
    this.#claim = claim
    this.#isHeld = isHeld
    this.#settle = settle
    this.#round = round
    this.#capabilities = round.capabilities
    this.#responses = round.responses
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get carrier(): Round | undefined {
    return this.#isHeld() ? undefined : this.#round
  }

  get capabilities(): JsonObject {
    return this.#capabilities
  }

  /** The client has come back. */
  resume(round: Round): void {
    this.#round = round
    this.#capabilities = round.capabilities
    this.#responses = round.responses
    if (this.#outcome !== undefined) return round.answer(this.#outcome)
    for (const [key, { resolve }] of this.#open) {
      const response = this.#take(key)
      if (response === undefined) continue
      this.#open.delete(key)
      resolve(response)
    }
    if (this.#open.size > 0) this.#parkSoon()
  }

  finish(outcome: Answer): void {
    this.#outcome = outcome
    this.#open.clear()
    this.#round?.answer(outcome)
  }

  cancel(): void {
    this.#round = undefined
    this.#abort.abort()
    for (const { reject } of this.#open.values()) reject(this.signal.reason)
    this.#open.clear()
  }

  async ask(question: Question): Promise<JsonObject> {
    this.signal.throwIfAborted()
    if (this.#isHeld()) await this.#awaitStatements()
    requireAskable(question, this.#capabilities)
    if (this.#round?.push !== undefined) return this.#round.push(question, this.signal)
    const key = this.#keyOf(question)
    return this.#take(key) ?? this.#wait(key, question)
  }

  /** The words of a question may be private as well. */
  async #awaitStatements(): Promise<void> {
    await this.#settle().catch(() => undefined)
    this.signal.throwIfAborted()
    if (this.#isHeld()) throw new WithheldError('A statement about private data failed, so nothing more is asked.')
  }

  #wait(key: string, question: Question): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      this.#open.set(key, { question, resolve, reject })
      this.#parkSoon()
    })
  }

  /** Questions that are asked in the same turn, as with Promise.all, are asked together. */
  #parkSoon(): void {
    setImmediate(() => this.#park())
  }

  #park(): void {
    const round = this.#round
    if (round === undefined || this.#open.size === 0) return
    const requestState = this.#parked.park(this, this.#claim())
    if (requestState === undefined) return this.#refuseAll()
    this.#round = undefined
    const inputRequests = Object.fromEntries(
      [...this.#open].map(([key, { question }]) => [key, { method: question.method, params: question.params }]),
    )
    round.answer({ result: { inputRequests, requestState }, resultType: 'input_required' })
  }

  #refuseAll(): void {
    const error = new ToolRetryError('Too many calls wait for answers already. Answer or cancel some of them first.')
    for (const { reject } of this.#open.values()) reject(error)
    this.#open.clear()
  }

  #keyOf({ key }: Question): string {
    this.#asked++
    if (key === undefined) return `question_${this.#asked}`
    return this.#open.has(key) ? `${key}_${this.#asked}` : key
  }

  /** An answer is good for one question. */
  #take(key: string): JsonObject | undefined {
    const { [key]: response, ...others } = this.#responses
    if (!Object.hasOwn(this.#responses, key) || !isJsonObject(response)) return undefined
    this.#responses = others
    return response
  }
}
