import type { JsonObject, LogLevel } from '@sallyport/core'
import {
  type Client,
  formatIntroduction,
  type Question,
  type QuestionAnswer,
  type StandingClient,
} from '../upstream/upstream.ts'
import { ClientQuestions, type SendToClient } from './client-questions.ts'
import type { ClientChannel } from './client-request.ts'
import type { Handshake } from './session-opening.ts'

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
