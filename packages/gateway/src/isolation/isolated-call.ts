import type { JsonObject, SallyportError, ToolDefinition } from '@sallyport/core'
import type { IsolationPlan } from './isolation-plan.ts'

/** A call that was made and whose result does not go to its caller as it is. */
export interface IsolatedCall {
  readonly server: string
  readonly definition: ToolDefinition
  readonly args: JsonObject
  /** What the caller wants to know, where it says so. */
  readonly intent: string | undefined
  /** The protocol's result, secrets taken out. */
  readonly result: JsonObject
  readonly plan: IsolationPlan
  readonly signal: AbortSignal
  readonly isReadOnly: boolean
  /** Calls the same tool again, as a call of its own: decided and recorded. */
  readonly recall: (args: JsonObject, signal: AbortSignal) => Promise<JsonObject | SallyportError>
}

export interface ModelUsage {
  readonly turns: number
  readonly tokensIn: number
  readonly tokensOut: number
}

/** What goes back to the caller. */
export type IsolatedReply =
  /** The result as it was received, byte for byte. */
  | { readonly kind: 'received' }
  /** The result of a later call of the tool, as it was received. */
  | { readonly kind: 'result'; readonly result: JsonObject }
  /** `writtenBy`: `model` where these are its own words, `tool` where they are a part of the result. */
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
