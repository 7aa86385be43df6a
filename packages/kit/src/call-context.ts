import type { Json, JsonObject } from '@sallyport/core'
import type { RequestId } from './json-rpc.ts'

const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]

/** What a handler has besides its arguments. */
export interface CallContext {
  /** Aborted when the caller cancels or is gone. */
  readonly signal: AbortSignal
  /** Tells the caller how far the work is. Costs nothing when nobody asked. */
  progress(progress: number, total?: number, message?: string): void
  /** A message for the caller's log, sent from the level that the caller chose. */
  log(level: LogLevel, data: Json): void
}

export interface CallChannel {
  readonly signal: AbortSignal
  readonly progressToken: RequestId | undefined
  /** The lowest level that is sent; undefined: none. */
  readonly logLevel: string | undefined
  readonly logger: string
  /** Sends a notification, unless the call is over. */
  notify(method: string, params: JsonObject): void
}

export function createCallContext(channel: CallChannel): CallContext {
  let furthest = Number.NEGATIVE_INFINITY
  return {
    signal: channel.signal,
    progress(progress, total, message) {
      // The protocol wants every notice to go further than the last; NaN compares false and is dropped too.
      if (channel.progressToken === undefined || !(progress > furthest)) return
      furthest = progress
      channel.notify('notifications/progress', {
        progressToken: channel.progressToken,
        progress,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message }),
      })
    },
    log(level, data) {
      if (!reaches(level, channel.logLevel)) return
      channel.notify('notifications/message', { level, logger: channel.logger, data })
    },
  }
}

export const isLogLevel = (level: unknown): level is LogLevel => LOG_LEVELS.some((known) => known === level)

function reaches(level: LogLevel, threshold: string | undefined): boolean {
  return isLogLevel(threshold) && LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(threshold)
}
