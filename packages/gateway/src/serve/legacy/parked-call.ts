import { Cancellation, type Era, isJsonObject, type JsonObject, type LogLevel } from '@sallyport/core'
import type { Answer } from '../../pipeline/pipeline.ts'
import type { Client, Question, QuestionAnswer } from '../../upstream/upstream.ts'
import type { ClientRequest } from '../rpc/client-request.ts'

/** What the client gets as the reply to one of its requests: the call has ended, or it needs input from the client. */
export type RoundOutcome =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'questions'; readonly inputRequests: JsonObject }
  /** The client repeated the request while this one was waiting. */
  | { readonly kind: 'superseded' }
  /** A bug of ours. */
  | { readonly kind: 'broken'; readonly error: unknown }

/** Questions that a server asks together may arrive separately. They are collected for this time and sent together. */
const DEBOUNCE_MS = 20

interface PendingQuestion {
  readonly question: Question
  readonly resolve: (answer: QuestionAnswer) => void
}

/**
 * A call of a modern client to a legacy server. It continues while the server waits for the client's answers, which
 * come with a later request. Its messages go to the request that is waiting at the moment.
 */
export class ParkedCall implements Client {
  readonly era: Era = 'modern'
  readonly answersInCall = true
  readonly conversation = undefined
  readonly cancellation = new Cancellation()
  readonly capabilities: JsonObject
  readonly clientInfo: JsonObject | undefined
  readonly #logLevel: LogLevel | undefined
  readonly #questions = new Map<string, PendingQuestion>()
  #waiting: ClientRequest | undefined
  #resolveRound: ((outcome: RoundOutcome) => void) | undefined
  #finalOutcome: RoundOutcome | undefined
  #questionCount = 0
  #debounceTimer: NodeJS.Timeout | undefined

  /** Stores only data of the first request: its connection may close long before the call ends. */
  constructor({ client }: ClientRequest) {
    this.capabilities = client.capabilities
    this.clientInfo = client.clientInfo
    this.#logLevel = client.logLevel
  }

  /** Each request sets its own log level. */
  get logLevel(): LogLevel | undefined {
    return this.#waiting ? this.#waiting.client.logLevel : this.#logLevel
  }

  /** Whether a request of the client is waiting for the next reply. */
  get hasWaitingRequest(): boolean {
    return this.#waiting !== undefined
  }

  notify(notification: JsonObject): void {
    this.#waiting?.client.notify(notification)
  }

  /** Uses the progress token of the request that is waiting now. */
  notifyProgress(progress: JsonObject): void {
    const meta = this.#waiting?.params._meta
    const progressToken = isJsonObject(meta) ? meta.progressToken : undefined
    if (progressToken !== undefined)
      this.notify({ method: 'notifications/progress', params: { ...progress, progressToken } })
  }

  ask(question: Question): Promise<QuestionAnswer> {
    const key = `${question.method.split('/')[0]}_${++this.#questionCount}`
    return new Promise((resolve) => {
      this.#questions.set(key, { question, resolve })
      question.cancellation.onCancel((reason) => this.#closeQuestion(key, { error: { code: -32603, message: reason } }))
      clearTimeout(this.#debounceTimer)
      this.#debounceTimer = setTimeout(() => this.#replyIfReady(), DEBOUNCE_MS)
    })
  }

  /** Ends the call. */
  end(end: Extract<RoundOutcome, { kind: 'answer' | 'broken' }>): void {
    this.#finalOutcome = end
    clearTimeout(this.#debounceTimer)
    for (const key of [...this.#questions.keys()])
      this.#closeQuestion(key, { error: { code: -32603, message: 'too late' } })
    this.#replyIfReady()
  }

  /** Accepts the answers of this request, and waits for the next reply. */
  nextRound(request: ClientRequest): Promise<RoundOutcome> {
    this.#reply({ kind: 'superseded' })
    const responses = isJsonObject(request.params.inputResponses) ? request.params.inputResponses : {}
    // A server accepts only objects as answers, so anything else counts as not answered yet.
    for (const [key, result] of Object.entries(responses))
      if (this.#questions.has(key) && isJsonObject(result)) this.#closeQuestion(key, { result })
    this.#waiting = request
    request.cancellation.onCancel((reason) => this.cancellation.cancel(reason))
    return new Promise((resolve) => {
      this.#resolveRound = resolve
      this.#replyIfReady()
    })
  }

  #closeQuestion(key: string, answer: QuestionAnswer): void {
    const pending = this.#questions.get(key)
    this.#questions.delete(key)
    pending?.question.cancellation.onCancel(undefined)
    pending?.resolve(answer)
  }

  #replyIfReady(): void {
    if (this.#finalOutcome) this.#reply(this.#finalOutcome)
    else if (this.#questions.size > 0) this.#reply({ kind: 'questions', inputRequests: this.#inputRequests() })
  }

  #reply(outcome: RoundOutcome): void {
    this.#waiting?.cancellation.onCancel(undefined)
    this.#waiting = undefined
    this.#resolveRound?.(outcome)
    this.#resolveRound = undefined
  }

  #inputRequests(): JsonObject {
    const entries = [...this.#questions].map(([key, { question }]) => {
      // These members have no meaning in the modern era.
      const { _meta, elicitationId: _name, ...params } = question.params
      return [key, { method: question.method, params }] as const
    })
    return Object.fromEntries(entries)
  }
}
