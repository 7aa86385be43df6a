import { isJsonObject, isLogLevel, type JsonObject, type LogLevel, META } from '@sallyport/core'
import type { Client, QuestionAnswer } from '../../upstream/upstream.ts'
import type { ClientChannel } from './client-request.ts'

/** A client of the modern era: it identifies itself with every request, and can be asked only in the result of a request. */
export class ModernClient implements Client {
  readonly era = 'modern'
  readonly answersInCall = false
  readonly conversation = undefined
  readonly #meta: JsonObject
  readonly #channel: ClientChannel

  constructor({ _meta }: JsonObject, channel: ClientChannel) {
    this.#meta = isJsonObject(_meta) ? _meta : {}
    this.#channel = channel
  }

  notify(notification: JsonObject): void {
    this.#channel.notify(notification)
  }

  get capabilities(): JsonObject {
    const declared = this.#meta[META.clientCapabilities]
    return isJsonObject(declared) ? declared : {}
  }

  get clientInfo(): JsonObject | undefined {
    const info = this.#meta[META.clientInfo]
    return isJsonObject(info) ? info : undefined
  }

  get logLevel(): LogLevel | undefined {
    const level = this.#meta[META.logLevel]
    return isLogLevel(level) ? level : undefined
  }

  async ask(): Promise<QuestionAnswer> {
    return { error: { code: -32601, message: 'A client of this era can be asked only by a call that can be resumed.' } }
  }
}
