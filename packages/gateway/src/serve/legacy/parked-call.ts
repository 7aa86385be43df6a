import { Cancellation, type Era, isJsonObject, type JsonObject, type LogLevel } from '@sallyport/core'
import type { Answer } from '../../pipeline/pipeline.ts'
import type { Client, Question, QuestionAnswer } from '../../upstream/upstream.ts'
import type { ClientRequest } from '../rpc/client-request.ts'

/** Where a call stands when its client gets a reply: it is over, or it needs something of the client. */
export type RoundOutcome =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'questions'; readonly inputRequests: JsonObject }
  /** The client made the same request again while this one waited. */
  | { readonly kind: 'superseded' }
  /** A bug of ours. */
  | { readonly kind: 'broken'; readonly error: unknown }

/** What a server asks in one go may come in pieces, and is told in one go: whoever answers will not notice the wait. */
const DEBOUNCE_MS = 20

interface PendingQuestion {
  readonly question: Question
  readonly resolve: (answer: QuestionAnswer) => void
}

/**
 * A call of a modern client to a legacy server. It goes on while the server waits for the client's answers, which come
 * with a later request; whatever it has to say goes to the request that waits at the moment.
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
  #resolveRound: ((turn: RoundOutcome) => void) | undefined
  #finalOutcome: RoundOutcome | undefined
  #questionCount = 0
  #debounceTimer: NodeJS.Timeout | undefined

  /** Of the first request only what it said is kept: its connection may be gone long before the call is over. */
  constructor({ client }: ClientRequest) {
    this.capabilities = client.capabilities
    this.clientInfo = client.clientInfo
    this.#logLevel = client.logLevel
  }

  /** Each round says for itself what it wants to hear. */
  get logLevel(): LogLevel | undefined {
    return this.#waiting ? this.#waiting.client.logLevel : this.#logLevel
  }

  /** A request of the client waits for what comes next. */
  get hasWaitingRequest(): boolean {
    return this.#waiting !== undefined
  }

  notify(notification: JsonObject): void {
    this.#waiting?.client.notify(notification)
  }

  /** Under the token of whichever request waits now. */
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

  /** The call is over. */
  end(end: Extract<RoundOutcome, { kind: 'answer' | 'broken' }>): void {
    this.#finalOutcome = end
    clearTimeout(this.#debounceTimer)
    for (const key of [...this.#questions.keys()])
      this.#closeQuestion(key, { error: { code: -32603, message: 'too late' } })
    this.#replyIfReady()
  }

  /** Takes what this request brings, and waits with it for the next turn. */
  nextRound(request: ClientRequest): Promise<RoundOutcome> {
    this.#reply({ kind: 'superseded' })
    const responses = isJsonObject(request.params.inputResponses) ? request.params.inputResponses : {}
    // A server would take nothing else for an answer, and wait: what is none has not been given yet.
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
    const asked = this.#questions.get(key)
    this.#questions.delete(key)
    asked?.question.cancellation.onCancel(undefined)
    asked?.resolve(answer)
  }

  #replyIfReady(): void {
    if (this.#finalOutcome) this.#reply(this.#finalOutcome)
    else if (this.#questions.size > 0) this.#reply({ kind: 'questions', inputRequests: this.#inputRequests() })
  }

  #reply(turn: RoundOutcome): void {
    this.#waiting?.cancellation.onCancel(undefined)
    this.#waiting = undefined
    this.#resolveRound?.(turn)
    this.#resolveRound = undefined
  }

  #inputRequests(): JsonObject {
    const entries = [...this.#questions].map(([key, { question }]) => {
      // The legacy era's names for itself mean nothing in the modern one.
      const { _meta, elicitationId: _name, ...params } = question.params
      return [key, { method: question.method, params }] as const
    })
    return Object.fromEntries(entries)
  }
}
