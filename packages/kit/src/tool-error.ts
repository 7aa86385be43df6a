import { cutText, type JsonObject } from '@sallyport/core'
import { ConnectorError } from './connectors/connector-error.ts'
import { ToolFatalError, ToolRetryError } from './retry-fatal-errors.ts'

export { ToolFatalError, ToolRetryError } from './retry-fatal-errors.ts'

/** Policy forbids this call at the moment; neither other arguments nor a retry would help. */
export class ToolRefusedError extends Error {
  override readonly name = 'ToolRefusedError'
  readonly nextStep: string

  constructor(message: string, nextStep: string) {
    super(message)
    this.nextStep = nextStep
  }
}

/** The client did not declare the capability that a question needs. */
export class MissingCapabilityError extends Error {
  override readonly name = 'UnaskableError'
  readonly capability: string

  constructor(capability: string) {
    super(`This needs a client that declares the capability "${capability}", which yours does not.`)
    this.capability = capability
  }
}

/** A tool's result does not match its output schema: a bug of the server. The caller learns only the kind of bug. */
export class OutputMismatchError extends Error {
  override readonly name = 'OutputMismatchError'
}

/** The label of a result could not be stored, so the result is withheld. */
export class WithheldError extends Error {
  override readonly name = 'WithheldError'
}

/** What the caller learns about a failure. Anything else than a tool error is a bug, and its message is not sent. */
export interface ToolErrorDescription {
  readonly kind: 'retry' | 'fatal' | 'refused' | 'bug'
  readonly text: string
  /** The value of `_meta["sallyport/error"]`. */
  readonly facts: JsonObject
}

/** A thrown value may throw again when it is inspected, for example a proxy. */
export function isInstance<Kind extends Error>(kind: new (...args: never) => Kind, error: unknown): error is Kind {
  try {
    return error instanceof kind
  } catch {
    return false
  }
}

/** Together they stay below the length at which agents truncate. */
const MAX_REASON_LENGTH = 6000
const MAX_NEXT_STEP_LENGTH = 1500

/** `reportBug` is called only for errors that are not tool errors, and returns the incident id. */
export function describeToolError(error: unknown, reportBug: () => string): ToolErrorDescription {
  let description: ToolErrorDescription | undefined
  try {
    description = describeKnownError(error, reportBug)
  } catch {
    // A getter of the thrown value may throw as well.
  }
  return description ?? describeBug('Something went wrong inside the server', reportBug())
}

function describeKnownError(error: unknown, reportBug: () => string): ToolErrorDescription | undefined {
  if (error instanceof ToolRetryError) return createDescription('retry', error.message)
  if (error instanceof ToolFatalError) return createDescription('fatal', error.message, error.nextStep)
  if (error instanceof ToolRefusedError) return createDescription('refused', error.message, error.nextStep)
  if (error instanceof MissingCapabilityError) return createDescription('retry', error.message)
  if (error instanceof WithheldError)
    return describeBug('The result was withheld: the server could not record how sensitive it is', reportBug())
  if (error instanceof OutputMismatchError) return describeBug('The server broke its own output schema', reportBug())
  if (error instanceof ConnectorError)
    return createDescription(error.retryable ? 'retry' : 'fatal', error.message, error.nextStep)
  return undefined
}

const describeBug = (what: string, incident: string): ToolErrorDescription =>
  createDescription('bug', `${what} (incident ${incident}).`, 'Its log has the details.')

function createDescription(kind: ToolErrorDescription['kind'], message: string, step?: string): ToolErrorDescription {
  // The kit adds the prefix, so one that the author wrote is removed.
  const text = kind === 'fatal' ? String(message).replace(/^(?:\s*\[FATAL\]\s*)+/i, '') : String(message)
  const reason = cutText(text, MAX_REASON_LENGTH)
  const nextStep = step === undefined ? undefined : cutText(String(step), MAX_NEXT_STEP_LENGTH)
  const sentence = nextStep === undefined ? reason : `${reason} ${nextStep}`
  return {
    kind,
    text: kind === 'fatal' ? `${FATAL_PREFIX}${sentence}` : neutralizeFatalPrefix(sentence),
    facts: { kind, reason, ...(nextStep === undefined ? {} : { next_step: nextStep }) },
  }
}

export const FATAL_PREFIX = '[FATAL] '

/** The prefixes that server libraries add to error texts: MCP's and jlowin's FastMCP, the TypeScript FastMCP, McpError. */
const WRAPPERS = [
  /^Error (?:executing|calling) tool (['"]?)[\w./:-]{1,128}\1: /,
  /^Tool (['"])[\w./:-]{1,128}\1 execution failed: /,
  /^MCP error -?\d{1,6}: /,
  /^(?:ToolError|McpError|ToolFatalError|Error): /,
]
/** At most two nested prefixes are removed. */
const MAX_WRAPPERS = 2

/** Removes the prefixes of server libraries from the text of an error. */
export function unwrapErrorText(text: string): string {
  let rest = text
  for (let depth = 0; depth < MAX_WRAPPERS; depth++) {
    const wrapper = WRAPPERS.map((pattern) => pattern.exec(rest)?.[0]).find((found) => found !== undefined)
    if (wrapper === undefined) break
    rest = rest.slice(wrapper.length)
  }
  return rest
}

/** Clients end a whole run at this prefix, and a message may begin with text that somebody typed. */
export function neutralizeFatalPrefix(text: string): string {
  return /^\s*\[FATAL\]/i.test(unwrapErrorText(text.trimStart())) ? `The tool said: ${text}` : text
}
