import {
  isJsonObject,
  isLogLevel,
  type JsonObject,
  LOG_LEVELS,
  type LogLevel,
  sanitizeLogMessage,
} from '@sallyport/core'
import type { Client } from '../client.ts'
import type { Link } from './link.ts'

const levelRank = (level: LogLevel): number => LOG_LEVELS.indexOf(level)

const isMoreVerbose = (level: LogLevel, than: LogLevel | undefined): boolean =>
  than === undefined || levelRank(level) < levelRank(than)

/** What loggers call levels that the protocol names otherwise. */
const ALIASES: Readonly<Record<string, LogLevel>> = { warn: 'warning', err: 'error', fatal: 'critical', trace: 'debug' }

/** A log message as clients take it; undefined where it has no level that is known, or no data. */
export function normalizeLog(message: JsonObject): JsonObject | undefined {
  const { params } = message
  if (!isJsonObject(params)) return undefined
  const level = typeof params.level === 'string' ? normalizeLevel(params.level) : params.level
  const told = sanitizeLogMessage(level === params.level ? params : { ...params, level })
  return isJsonObject(told) ? (told === params ? message : { ...message, params: told }) : undefined
}

function normalizeLevel(name: string): string {
  const lower = name.length > 20 ? name : name.toLowerCase()
  return Object.hasOwn(ALIASES, lower) ? (ALIASES[lower] as string) : lower
}

/** Whether this client asked for such messages. */
export function acceptsNotification({ era, logLevel }: Client, { method, params }: JsonObject): boolean {
  if (method !== 'notifications/message') return true
  if (logLevel === undefined) return era === 'legacy'
  const level = isJsonObject(params) ? params.level : undefined
  return !isLogLevel(level) || levelRank(level) >= levelRank(logLevel)
}

/** A call waits for it, and no longer than this if the server does not answer. */
const SET_LEVEL_TIMEOUT_MS = 2_000

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
  ensureLevel(level: LogLevel): Promise<unknown> | undefined {
    if (!isMoreVerbose(level, this.#level)) return undefined
    this.#level = level
    const limit = Math.min(this.#timeout, SET_LEVEL_TIMEOUT_MS)
    const times = { timeout: limit, maximum: limit }
    return this.#link.request({ method: 'logging/setLevel', params: { level }, ...times }).catch(() => undefined)
  }
}
