import { isJsonObject, type Json, type JsonObject, type SallyportError } from '@sallyport/core'
import type { Answer } from '../pipeline/pipeline.ts'
import { parseFrame } from '../upstream/upstream.ts'

/** The result of a tool call, for a program. */
export interface ToolResult {
  readonly success: boolean
  /** The structured content, else the only text, else the array of contents. It can be any value, also 0, "" and []. */
  readonly output: Json | undefined
  readonly error: ToolFailure | undefined
  readonly latency_ms: number
  readonly metadata: {
    readonly tool: string
    readonly server: string | undefined
    readonly call_id: string
    readonly trace_id: string
    /** All returned content: texts, images, audio, links, embedded resources. */
    readonly content: readonly Json[]
    readonly structured_content: Json | undefined
    readonly meta: JsonObject | undefined
  }
}

/** Why a call failed. The codes are in docs/errors.md. */
export interface ToolFailure {
  readonly code: string
  readonly message: string
  readonly hint: string | undefined
  readonly retryable: boolean
}

export type ToolCallOutcome = Pick<ToolResult, 'success' | 'output' | 'error'> & {
  readonly content: readonly Json[]
  readonly structured_content: Json | undefined
  readonly meta: JsonObject | undefined
}

export function toFailedOutcome(error: SallyportError): ToolCallOutcome {
  const { code, message, hint } = error
  return errorOutcome({ code, message, hint, retryable: error.kind.retryable })
}

function errorOutcome(error: ToolFailure): ToolCallOutcome {
  return { success: false, output: undefined, error, content: [], structured_content: undefined, meta: undefined }
}

/** Reads a server's answer to `tools/call`. */
export function parseOutcome(answer: Answer): ToolCallOutcome {
  if (answer.kind === 'failure') return { ...toFailedOutcome(answer.error), meta: answer.meta }
  const message = parseFrame(answer.frame)
  if (!isJsonObject(message.result)) return refused(isJsonObject(message.error) ? message.error : {})
  const { content, structuredContent, isError, _meta } = message.result
  const contents = Array.isArray(content) ? content : []
  const output = structuredContent !== undefined ? structuredContent : plainOutput(contents)
  const common = {
    output,
    content: contents,
    structured_content: structuredContent,
    meta: isJsonObject(_meta) ? _meta : undefined,
  }
  if (isError !== true) return { ...common, success: true, error: undefined }
  const text = typeof output === 'string' ? output : JSON.stringify(output)
  return { ...common, success: false, error: { code: 'TOOL_ERROR', message: text, hint: undefined, retryable: true } }
}

function plainOutput(contents: readonly Json[]): Json {
  const [only] = contents
  return contents.length === 1 && isJsonObject(only) && only.type === 'text' && typeof only.text === 'string'
    ? only.text
    : contents
}

function refused({ code, message }: JsonObject): ToolCallOutcome {
  return errorOutcome({
    code: `RPC${String(code ?? '')}`,
    message: String(message ?? 'The server gave no reason.'),
    hint: undefined,
    retryable: false,
  })
}
