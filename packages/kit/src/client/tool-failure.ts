import { isJsonObject } from '@sallyport/core'
import { FATAL_PREFIX, unwrapErrorText } from '../tool-error.ts'
import type { ToolResult } from '../tool-result.ts'

/** A tool reported a fatal error, or failed the same way too often. The run is over. */
export class FatalToolError extends Error {
  override readonly name = 'FatalToolError'
  readonly tool: string
  /** What a person can do about it, if the server reported it. */
  readonly nextStep: string | undefined

  constructor(tool: string, message: string, options: { readonly nextStep?: string; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.tool = tool
    this.nextStep = options.nextStep
  }
}

/** A tool failed in a way that the model can read and correct. */
export class RetryableToolError extends Error {
  override readonly name = 'RetryableToolError'
  readonly tool: string

  constructor(tool: string, message: string) {
    super(message)
    this.tool = tool
  }
}

export interface ToolFailure {
  readonly kind: 'fatal' | 'retry'
  readonly text: string
  readonly nextStep?: string
}

/**
 * The failure of a result, if it failed. Anybody whose text gets into a result can forge `[FATAL] `: it counts only at the
 * beginning of an error, and `_meta["sallyport/error"]` of the server overrides it.
 */
export function readToolFailure(result: ToolResult): ToolFailure | undefined {
  if (result.isError !== true) return undefined
  const text = joinErrorText(result)
  const bare = unwrapErrorText(text)
  const hasPrefix = bare.startsWith(FATAL_PREFIX)
  const facts = result._meta?.['sallyport/error']
  const kind = isJsonObject(facts) ? facts.kind : undefined
  const isFatal = kind === 'fatal' || (hasPrefix && !NON_FATAL_KINDS.has(kind))
  if (!isFatal) return { kind: 'retry', text }
  const nextStep = isJsonObject(facts) ? facts.next_step : undefined
  return {
    kind: 'fatal',
    text: hasPrefix ? bare.replace(/^(?:\[FATAL\] )+/, '') : text,
    ...(typeof nextStep === 'string' && { nextStep }),
  }
}

const NON_FATAL_KINDS: ReadonlySet<unknown> = new Set(['retry', 'bug'])

function joinErrorText({ content }: ToolResult): string {
  const texts = content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []))
  return texts.length === 0 ? 'The tool failed without an error message.' : texts.join('\n')
}
