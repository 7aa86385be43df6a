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

/** How a client is reached outside of its calls. */
export interface StandingChannel {
  readonly send: SendToClient
  readonly isOpen: () => boolean
}

/** A client that began with `initialize`: what it declared then, and what it has not answered yet. */
export class LegacyClient implements StandingClient {
  readonly era = 'legacy'
  readonly answersInCall = true
  readonly conversation: string
  readonly handshake: Handshake
  readonly #channel: StandingChannel
  #logLevel: LogLevel | undefined
  #introduction: string | undefined
  /** Most are never asked anything. */
  #questions: ClientQuestions | undefined

  constructor(conversation: string, opening: Handshake, way: StandingChannel) {
    this.conversation = conversation
    this.handshake = opening
    this.#channel = way
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

  /** Outside of any call; false when there is no way to it. */
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

/** A legacy client during one of its calls: what concerns the call goes onto the call's own stream. */
export class CallingClient implements Client {
  readonly era = 'legacy'
  readonly answersInCall = true
  readonly standing: LegacyClient
  readonly #channel: ClientChannel

  constructor(standing: LegacyClient, way: ClientChannel) {
    this.standing = standing
    this.#channel = way
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

  /** A client that takes no stream as the answer to its call may have another one open. */
  ask(question: Question): Promise<QuestionAnswer> {
    return this.standing.askOver((message) => this.#channel.notify(message) || this.standing.trySend(message), question)
  }

  notify(notification: JsonObject): void {
    this.#channel.notify(notification)
  }
}

/** Sends a message to the client; false when there is no way to it. */
type SendToClient = (message: JsonObject) => boolean

/** A person may have to be found before anybody answers. */
const ANSWER_TIMEOUT_MS = 600_000

/** The questions of servers that one legacy client has not answered yet. */
class ClientQuestions {
  readonly #open = new Map<string, (answer: QuestionAnswer) => void>()

  ask({ method, params, cancellation }: Question, send: SendToClient): Promise<QuestionAnswer> {
    if (cancellation.reason !== undefined) return Promise.resolve(withdrawnAnswer(cancellation.reason))
    // Never used before by this client, not even in a conversation that it began anew.
    const id = randomUUID()
    if (!send({ id, method, params: withoutProgressToken(params) }))
      return Promise.resolve(failedAnswer('The client keeps no stream open on which it could be asked.'))
    return new Promise((resolve) => {
      const close = (answer: QuestionAnswer): void => {
        clearTimeout(timer)
        cancellation.onCancel(undefined)
        this.#open.delete(id)
        resolve(answer)
      }
      const takeBack = (reason: string): void => {
        send({ method: 'notifications/cancelled', params: { requestId: id, reason } })
        close(withdrawnAnswer(reason))
      }
      const timer = setTimeout(() => takeBack('it was not answered in time'), ANSWER_TIMEOUT_MS)
      this.#open.set(id, close)
      cancellation.onCancel(takeBack)
    })
  }

  /** An answer to no open question changes nothing. */
  receiveAnswer(id: string | number, { result, error }: JsonObject): void {
    const close = typeof id === 'string' ? this.#open.get(id) : undefined
    close?.(isJsonObject(error) ? { error } : { result: result ?? {} })
  }

  close(reason: string): void {
    for (const close of [...this.#open.values()]) close(failedAnswer(`The client cannot answer: ${reason}.`))
  }
}

/** Its token belongs to the server; ours would mean nothing to it. */
function withoutProgressToken(params: JsonObject): JsonObject {
  if (!isJsonObject(params._meta) || params._meta.progressToken === undefined) return params
  const { progressToken: _token, ..._meta } = params._meta
  return { ...params, _meta }
}

const withdrawnAnswer = (reason: string): QuestionAnswer => failedAnswer(`Nobody waits for the answer: ${reason}.`)

const failedAnswer = (message: string): QuestionAnswer => ({ error: { code: -32603, message } })
