import { isJsonObject, isLogLevel, type JsonObject, type LogLevel, META } from '@sallyport/core'
import type { Client, QuestionAnswer } from '../upstream/upstream.ts'

/** A client of the modern era: it says who it is with every request, and can be asked only by what a request returns. */
export class ModernClient implements Client {
  readonly era = 'modern'
  readonly conversation = undefined
  readonly notify: (notification: JsonObject) => void
  readonly #meta: JsonObject

  constructor(params: JsonObject, notify: (notification: JsonObject) => void) {
    this.#meta = isJsonObject(params._meta) ? params._meta : {}
    this.notify = notify
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
    return { error: { code: -32601, message: 'Only a call that can be resumed can ask a client of this era.' } }
  }
}
