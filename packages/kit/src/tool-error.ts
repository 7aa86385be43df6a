import type { JsonObject } from '@sallyport/core'
import { UnaskableError } from './question.ts'

/** The model can correct this and call again: a wrong path, an empty query, a bad date. */
export class ToolRetryError extends Error {
  override readonly name = 'ToolRetryError'

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
  }
}

/** Infrastructure is broken; no other arguments would help. The run should stop. */
export class ToolFatalError extends Error {
  override readonly name = 'ToolFatalError'
  readonly nextStep: string | undefined

  constructor(message: string, options: { readonly nextStep?: string; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.nextStep = options.nextStep
  }
}

/** A tool returned something else than its output schema says: a bug of the server, of which the caller is told the kind. */
export class OutputMismatchError extends Error {
  override readonly name = 'OutputMismatchError'
}

/** What is said to the caller about a failure. Anything that is no tool error is a bug, and its text stays with us. */
export interface ToolFailure {
  readonly kind: 'retry' | 'fatal' | 'bug'
  readonly text: string
  /** The value of `_meta["sallyport/error"]`. */
  readonly facts: JsonObject
}

/** `reportBug` is asked only for what is no tool error, and gives the incident's name. */
export function describeToolError(error: unknown, reportBug: () => string): ToolFailure {
  if (error instanceof ToolRetryError) return failure('retry', error.message)
  if (error instanceof ToolFatalError) return failure('fatal', error.message, error.nextStep)
  if (error instanceof UnaskableError) return failure('retry', error.message)
  if (error instanceof OutputMismatchError)
    return failure(
      'bug',
      `The server broke its own output schema (incident ${reportBug()}).`,
      'Its log has the details.',
    )
  return failure('bug', `Something went wrong inside the server (incident ${reportBug()}).`, 'Its log has the details.')
}

function failure(kind: ToolFailure['kind'], reason: string, nextStep?: string): ToolFailure {
  const sentence = nextStep === undefined ? reason : `${reason} ${nextStep}`
  return {
    kind,
    text: kind === 'fatal' ? `[FATAL] ${sentence}` : sentence,
    facts: { kind, reason, ...(nextStep === undefined ? {} : { next_step: nextStep }) },
  }
}
