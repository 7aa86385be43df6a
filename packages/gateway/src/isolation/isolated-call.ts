import type { JsonObject, SallyportError, ToolDefinition } from '@sallyport/core'
import type { IsolationPlan } from './isolation-plan.ts'

/** A call that was made, and whose result is not returned unchanged. */
export interface IsolatedCall {
  readonly server: string
  readonly definition: ToolDefinition
  readonly args: JsonObject
  /** What the caller wants to know; `undefined` if it did not say. */
  readonly intent: string | undefined
  /** The MCP result, without secrets. */
  readonly result: JsonObject
  readonly plan: IsolationPlan
  readonly signal: AbortSignal
  readonly isReadOnly: boolean
  /** Calls the same tool again. This is a separate call, with its own decision and record. */
  readonly recall: (args: JsonObject, signal: AbortSignal) => Promise<JsonObject | SallyportError>
}

export interface ModelUsage {
  readonly turns: number
  readonly tokensIn: number
  readonly tokensOut: number
}

/** What is returned to the caller. */
export type IsolatedReply =
  /** The result as it was received, byte for byte. */
  | { readonly kind: 'received' }
  /** The result of a later call of the tool, as it was received. */
  | { readonly kind: 'result'; readonly result: JsonObject }
  /** `writtenBy`: `model` if the model wrote the text, `tool` if it is a part of the result. */
  | {
      readonly kind: 'text'
      readonly text: string
      readonly isError: boolean
      readonly writtenBy: 'model' | 'tool'
    }

export interface IsolatedOutcome {
  readonly reply: IsolatedReply | SallyportError
  readonly facts: ModelUsage
}
