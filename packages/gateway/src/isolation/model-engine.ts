import type { Json, JsonObject } from '@sallyport/core'

export interface ModelTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
}

export interface ModelToolCall {
  readonly id: string
  readonly name: string
  readonly input: Json
}

/** One message of a conversation. A conversation exists for one call only. */
export type ModelMessage =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'model'; readonly text: string; readonly calls: readonly ModelToolCall[] }
  | { readonly role: 'tools'; readonly results: readonly ModelToolResult[] }

export interface ModelToolResult {
  readonly call: ModelToolCall
  readonly text: string
  readonly isError: boolean
}

export interface ModelRequest {
  readonly system: string
  readonly messages: readonly ModelMessage[]
  readonly tools: readonly ModelTool[]
  readonly maxOutputTokens: number
  readonly signal: AbortSignal
}

export interface ModelTurn {
  readonly text: string
  readonly calls: readonly ModelToolCall[]
  /** As the provider counted; `undefined` if it does not report this. */
  readonly tokensIn: number | undefined
  readonly tokensOut: number | undefined
}

/** The model that handles an isolated call. */
export interface ModelEngine {
  /** Provider and model, for people. */
  readonly name: string
  /** Rejects with MODEL_UNAVAILABLE, or with the signal's reason. */
  turn(request: ModelRequest): Promise<ModelTurn>
}
