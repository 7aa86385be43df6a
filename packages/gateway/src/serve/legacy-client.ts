import type { JsonObject, LogLevel } from '@sallyport/core'
import {
  type Client,
  introductionOf,
  type Question,
  type QuestionAnswer,
  type StandingClient,
} from '../upstream/upstream.ts'
import { ClientQuestions, type SendToClient } from './client-questions.ts'
import type { WayToClient } from './client-request.ts'
import type { SessionOpening } from './session-opening.ts'

/** How a client is reached outside of its calls. */
export interface StandingWay {
  readonly send: SendToClient
  readonly isOpen: () => boolean
}

/** A client that began with `initialize`: what it declared then, and what it has not answered yet. */
export class LegacyClient implements StandingClient {
  readonly era = 'legacy'
  readonly answersInCall = true
  readonly conversation: string
  readonly opening: SessionOpening
  readonly #way: StandingWay
  #logLevel: LogLevel | undefined
  #introduction: string | undefined
  /** Most are never asked anything. */
  #questions: ClientQuestions | undefined

  constructor(conversation: string, opening: SessionOpening, way: StandingWay) {
    this.conversation = conversation
    this.opening = opening
    this.#way = way
  }

  get isReachable(): boolean {
    return this.#way.isOpen()
  }

  get capabilities(): JsonObject {
    return this.opening.capabilities
  }

  get clientInfo(): JsonObject {
    return this.opening.clientInfo
  }

  get logLevel(): LogLevel | undefined {
    return this.#logLevel
  }

  set logLevel(level: LogLevel | undefined) {
    this.#logLevel = level
    this.#introduction = undefined
  }

  get introduction(): string {
    this.#introduction ??= introductionOf(this)
    return this.#introduction
  }

  ask(question: Question): Promise<QuestionAnswer> {
    return this.askOver(this.#way.send, question)
  }

  notify(notification: JsonObject): void {
    this.#way.send(notification)
  }

  /** Outside of any call; false when there is no way to it. */
  reach(message: JsonObject): boolean {
    return this.#way.send(message)
  }

  askOver(send: SendToClient, question: Question): Promise<QuestionAnswer> {
    this.#questions ??= new ClientQuestions()
    return this.#questions.ask(question, send)
  }

  answered(id: string | number, message: JsonObject): void {
    this.#questions?.answered(id, message)
  }

  left(reason: string): void {
    this.#questions?.close(reason)
  }
}

/** A legacy client during one of its calls: what concerns the call goes onto the call's own stream. */
export class CallingClient implements Client {
  readonly era = 'legacy'
  readonly answersInCall = true
  readonly standing: LegacyClient
  readonly #way: WayToClient

  constructor(standing: LegacyClient, way: WayToClient) {
    this.standing = standing
    this.#way = way
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
    return this.standing.askOver((message) => this.#way.notify(message) || this.standing.reach(message), question)
  }

  notify(notification: JsonObject): void {
    this.#way.notify(notification)
  }
}
