import { cutText, type JsonObject } from '@sallyport/core'
import { ConnectorError } from './connectors/connector-error.ts'
import { ToolFatalError, ToolRetryError } from './retry-fatal-errors.ts'

export { ToolFatalError, ToolRetryError } from './retry-fatal-errors.ts'

/** Policy forbids this call as things are; neither other arguments nor another try would help. */
export class ToolRefusedError extends Error {
  override readonly name = 'ToolRefusedError'
  readonly nextStep: string

  constructor(message: string, nextStep: string) {
    super(message)
    this.nextStep = nextStep
  }
}

/** The client has not declared that it can be asked this. */
export class MissingCapabilityError extends Error {
  override readonly name = 'UnaskableError'
  readonly capability: string

  constructor(capability: string) {
    super(`This needs a client that declares the capability "${capability}", which yours does not.`)
    this.capability = capability
  }
}

/** A tool returned something else than its output schema says: a bug of the server, of which the caller is told the kind. */
export class OutputMismatchError extends Error {
  override readonly name = 'OutputMismatchError'
}

/** How sensitive a result is could not be recorded, so it stays here. */
export class WithheldError extends Error {
  override readonly name = 'WithheldError'
}

/** What is said to the caller about a failure. Anything that is no tool error is a bug, and its text stays with us. */
export interface ToolErrorDescription {
  readonly kind: 'retry' | 'fatal' | 'refused' | 'bug'
  readonly text: string
  /** The value of `_meta["sallyport/error"]`. */
  readonly facts: JsonObject
}

/** Whatever was thrown may throw again when it is looked at: a proxy does. */
export function isInstance<Kind extends Error>(kind: new (...args: never) => Kind, error: unknown): error is Kind {
  try {
    return error instanceof kind
  } catch {
    return false
  }
}

/** Together they stay below what agents take without cutting it themselves. */
const MAX_REASON_LENGTH = 6000
const MAX_NEXT_STEP_LENGTH = 1500

/** `reportBug` is asked only for what is no tool error, and gives the incident's name. */
export function describeToolError(error: unknown, reportBug: () => string): ToolErrorDescription {
  let known: ToolErrorDescription | undefined
  try {
    known = describeKnownError(error, reportBug)
  } catch {
    // A getter of what was thrown may throw as well.
  }
  return known ?? describeBug('Something went wrong inside the server', reportBug())
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
  // The prefix is ours to give: an author who wrote it as well means the same.
  const said = kind === 'fatal' ? String(message).replace(/^(?:\s*\[FATAL\]\s*)+/i, '') : String(message)
  const reason = cutText(said, MAX_REASON_LENGTH)
  const nextStep = step === undefined ? undefined : cutText(String(step), MAX_NEXT_STEP_LENGTH)
  const sentence = nextStep === undefined ? reason : `${reason} ${nextStep}`
  return {
    kind,
    text: kind === 'fatal' ? `${FATAL_PREFIX}${sentence}` : neutralizeFatalPrefix(sentence),
    facts: { kind, reason, ...(nextStep === undefined ? {} : { next_step: nextStep }) },
  }
}

export const FATAL_PREFIX = '[FATAL] '

/** What servers put before the text of an error: MCP's and jlowin's FastMCP, the TypeScript FastMCP, McpError. */
const WRAPPERS = [
  /^Error (?:executing|calling) tool (['"]?)[\w./:-]{1,128}\1: /,
  /^Tool (['"])[\w./:-]{1,128}\1 execution failed: /,
  /^MCP error -?\d{1,6}: /,
  /^(?:ToolError|McpError|ToolFatalError|Error): /,
]
/** One wrapper, and one more inside it. */
const MAX_WRAPPERS = 2

/** The text of an error without what servers put before it. */
export function unwrapErrorText(text: string): string {
  let rest = text
  for (let depth = 0; depth < MAX_WRAPPERS; depth++) {
    const wrapper = WRAPPERS.map((pattern) => pattern.exec(rest)?.[0]).find((found) => found !== undefined)
    if (wrapper === undefined) break
    rest = rest.slice(wrapper.length)
  }
  return rest
}

/** Clients stop a whole run at this beginning, and a message may begin with what somebody typed. */
export function neutralizeFatalPrefix(text: string): string {
  return /^\s*\[FATAL\]/i.test(unwrapErrorText(text.trimStart())) ? `The tool said: ${text}` : text
}
