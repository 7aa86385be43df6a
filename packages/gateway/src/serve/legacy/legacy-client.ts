import { randomUUID } from 'node:crypto'
import { isJsonObject, type JsonObject, type LogLevel } from '@sallyport/core'
import {
  type Client,
  formatIntroduction,
  type Question,
  type QuestionAnswer,
  type StandingClient,
} from '../../upstream/upstream.ts'
import type { ClientChannel } from '../rpc/client-request.ts'
import type { Handshake } from './handshake.ts'

/** How to reach a client outside of its calls. */
export interface StandingChannel {
  readonly send: SendToClient
  readonly isOpen: () => boolean
}

/** A client that began with `initialize`: what it declared, and which questions it has not answered yet. */
export class LegacyClient implements StandingClient {
  readonly era = 'legacy'
  readonly answersInCall = true
  readonly conversation: string
  readonly handshake: Handshake
  readonly #channel: StandingChannel
  #logLevel: LogLevel | undefined
  #introduction: string | undefined
  /** Created at the first question: most clients never get one. */
  #questions: ClientQuestions | undefined

  constructor(conversation: string, handshake: Handshake, channel: StandingChannel) {
    this.conversation = conversation
    this.handshake = handshake
    this.#channel = channel
  }

  get isReachable(): boolean {
    return this.#channel.isOpen()
  }

  get capabilities(): JsonObject {
    return this.handshake.capabilities
  }

  get clientInfo(): JsonObject {
    return this.handshake.clientInfo
  }

  get logLevel(): LogLevel | undefined {
    return this.#logLevel
  }

  set logLevel(level: LogLevel | undefined) {
    this.#logLevel = level
    this.#introduction = undefined
  }

  get introduction(): string {
    this.#introduction ??= formatIntroduction(this)
    return this.#introduction
  }

  ask(question: Question): Promise<QuestionAnswer> {
    return this.askOver(this.#channel.send, question)
  }

  notify(notification: JsonObject): void {
    this.#channel.send(notification)
  }

  /** Sends a message outside of any call. Returns false if the client cannot be reached. */
  trySend(message: JsonObject): boolean {
    return this.#channel.send(message)
  }

  askOver(send: SendToClient, question: Question): Promise<QuestionAnswer> {
    this.#questions ??= new ClientQuestions()
    return this.#questions.ask(question, send)
  }

  receiveAnswer(id: string | number, message: JsonObject): void {
    this.#questions?.receiveAnswer(id, message)
  }

  close(reason: string): void {
    this.#questions?.close(reason)
  }
}

/** A legacy client during one of its calls: messages about the call use the call's own stream. */
export class CallingClient implements Client {
  readonly era = 'legacy'
  readonly answersInCall = true
  readonly standing: LegacyClient
  readonly #channel: ClientChannel

  constructor(standing: LegacyClient, channel: ClientChannel) {
    this.standing = standing
    this.#channel = channel
  }

  get capabilities(): JsonObject {
    return this.standing.capabilities
  }

  get clientInfo(): JsonObject {
    return this.standing.clientInfo
  }

  get conversation(): string {
    return this.standing.conversation
  }

  get logLevel(): LogLevel | undefined {
    return this.standing.logLevel
  }

  get introduction(): string {
    return this.standing.introduction
  }

  /** A client that accepts no stream as the answer to its call may have another stream open. */
  ask(question: Question): Promise<QuestionAnswer> {
    return this.standing.askOver((message) => this.#channel.notify(message) || this.standing.trySend(message), question)
  }

  notify(notification: JsonObject): void {
    this.#channel.notify(notification)
  }
}

/** Sends a message to the client; returns false if it cannot be reached. */
type SendToClient = (message: JsonObject) => boolean

/** Long, because a person may have to answer. */
const ANSWER_TIMEOUT_MS = 600_000

/** Questions of servers that one legacy client has not answered yet. */
class ClientQuestions {
  readonly #open = new Map<string, (answer: QuestionAnswer) => void>()

  ask({ method, params, cancellation }: Question, send: SendToClient): Promise<QuestionAnswer> {
    if (cancellation.reason !== undefined) return Promise.resolve(withdrawnAnswer(cancellation.reason))
    // Unique for this client, even if it starts a new conversation.
    const id = randomUUID()
    if (!send({ id, method, params: withoutProgressToken(params) }))
      return Promise.resolve(failedAnswer('The client has no open stream on which it could be asked.'))
    return new Promise((resolve) => {
      const close = (answer: QuestionAnswer): void => {
        clearTimeout(timer)
        cancellation.onCancel(undefined)
        this.#open.delete(id)
        resolve(answer)
      }
      const withdraw = (reason: string): void => {
        send({ method: 'notifications/cancelled', params: { requestId: id, reason } })
        close(withdrawnAnswer(reason))
      }
      const timer = setTimeout(() => withdraw('it was not answered in time'), ANSWER_TIMEOUT_MS)
      this.#open.set(id, close)
      cancellation.onCancel(withdraw)
    })
  }

  /** Ignores an answer without an open question. */
  receiveAnswer(id: string | number, { result, error }: JsonObject): void {
    const close = typeof id === 'string' ? this.#open.get(id) : undefined
    close?.(isJsonObject(error) ? { error } : { result: result ?? {} })
  }

  close(reason: string): void {
    for (const close of [...this.#open.values()]) close(failedAnswer(`The client cannot answer: ${reason}.`))
  }
}

/** The progress token belongs to the server and means nothing to this client. */
function withoutProgressToken(params: JsonObject): JsonObject {
  if (!isJsonObject(params._meta) || params._meta.progressToken === undefined) return params
  const { progressToken: _token, ..._meta } = params._meta
  return { ...params, _meta }
}

const withdrawnAnswer = (reason: string): QuestionAnswer => failedAnswer(`The answer is no longer needed: ${reason}.`)

const failedAnswer = (message: string): QuestionAnswer => ({ error: { code: -32603, message } })
