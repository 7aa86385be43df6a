import { isJsonObject, isLogLevel, type JsonObject, LOG_LEVELS, type LogLevel } from '@sallyport/core'
import type { Client } from './client.ts'
import type { Link } from './link.ts'

const rankOf = (level: LogLevel): number => LOG_LEVELS.indexOf(level)

const isMoreTalkative = (level: LogLevel, than: LogLevel | undefined): boolean =>
  than === undefined || rankOf(level) < rankOf(than)

/** Whether this client asked for such messages. A level that nobody knows is told rather than lost. */
export function wantsToHear({ era, logLevel }: Client, { method, params }: JsonObject): boolean {
  if (method !== 'notifications/message') return true
  if (logLevel === undefined) return era === 'legacy'
  const level = isJsonObject(params) ? params.level : undefined
  return !isLogLevel(level) || rankOf(level) >= rankOf(logLevel)
}

/** A call waits for it, and no longer than this if the server does not answer. */
const PATIENCE = 2_000

/** How much a legacy server was told to say. Each client hears of it what it asked for itself. */
export class LogLevelSetting {
  readonly #link: Link
  readonly #timeout: number
  #level: LogLevel | undefined

  constructor(link: Link, timeout: number) {
    this.#link = link
    this.#timeout = timeout
  }

  /** Undefined when the server says that much already. A server that refuses harms no call. */
  atLeast(level: LogLevel): Promise<unknown> | undefined {
    if (!isMoreTalkative(level, this.#level)) return undefined
    this.#level = level
    const limit = Math.min(this.#timeout, PATIENCE)
    const times = { timeout: limit, maximum: limit }
    return this.#link.request({ method: 'logging/setLevel', params: { level }, ...times }).catch(() => undefined)
  }
}
