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

/** Level names of common loggers that the protocol does not have. */
const ALIASES: Readonly<Record<string, LogLevel>> = { warn: 'warning', err: 'error', fatal: 'critical', trace: 'debug' }

/** A log message in the form that clients accept; `undefined` if its level is unknown or it has no data. */
export function normalizeLog(message: JsonObject): JsonObject | undefined {
  const { params } = message
  if (!isJsonObject(params)) return undefined
  const level = typeof params.level === 'string' ? normalizeLevel(params.level) : params.level
  const sanitized = sanitizeLogMessage(level === params.level ? params : { ...params, level })
  return isJsonObject(sanitized) ? (sanitized === params ? message : { ...message, params: sanitized }) : undefined
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

/** A call waits for the level to be set, but at most this long. */
const SET_LEVEL_TIMEOUT_MS = 2_000

/** The log level that was set at a legacy server. Each client gets only the messages that it asked for. */
export class LogLevelSetting {
  readonly #link: Link
  readonly #timeout: number
  #level: LogLevel | undefined

  constructor(link: Link, timeout: number) {
    this.#link = link
    this.#timeout = timeout
  }

  get level(): LogLevel | undefined {
    return this.#level
  }

  /** `undefined` if the server already sends that much. A refusal by the server harms no call. */
  ensureLevel(level: LogLevel): Promise<unknown> | undefined {
    if (!isMoreVerbose(level, this.#level)) return undefined
    this.#level = level
    const limit = Math.min(this.#timeout, SET_LEVEL_TIMEOUT_MS)
    const times = { timeout: limit, maximum: limit }
    return this.#link.request({ method: 'logging/setLevel', params: { level }, ...times }).catch(() => undefined)
  }
}
