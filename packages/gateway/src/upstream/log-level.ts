import { checkLogMessage, isJsonObject, isLogLevel, type JsonObject, LOG_LEVELS, type LogLevel } from '@sallyport/core'
import type { Client } from './client.ts'
import type { Link } from './link.ts'

const rankOf = (level: LogLevel): number => LOG_LEVELS.indexOf(level)

const isMoreTalkative = (level: LogLevel, than: LogLevel | undefined): boolean =>
  than === undefined || rankOf(level) < rankOf(than)

/** What loggers call levels that the protocol names otherwise. */
const ALIASES: Readonly<Record<string, LogLevel>> = { warn: 'warning', err: 'error', fatal: 'critical', trace: 'debug' }

/** A log message as clients take it; undefined where it has no level that is known, or no data. */
export function readableLog(message: JsonObject): JsonObject | undefined {
  const { params } = message
  if (!isJsonObject(params)) return undefined
  const level = typeof params.level === 'string' ? levelNamed(params.level) : params.level
  const told = checkLogMessage(level === params.level ? params : { ...params, level })
  return isJsonObject(told) ? (told === params ? message : { ...message, params: told }) : undefined
}

function levelNamed(name: string): string {
  const lower = name.length > 20 ? name : name.toLowerCase()
  return Object.hasOwn(ALIASES, lower) ? (ALIASES[lower] as string) : lower
}

/** Whether this client asked for such messages. */
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
