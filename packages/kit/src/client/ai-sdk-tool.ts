/**
 * A tool of the AI SDK. It imports no types of that package, so that the kit's types compile without it:
 * `never` is assignable to whatever the AI SDK expects.
 */
export interface AiSdkTool {
  readonly description: string
  /** The return value of the AI SDK's `jsonSchema(…)`. */
  readonly inputSchema: never
  readonly execute: (input: unknown, options: AiSdkCallOptions) => Promise<unknown>
  readonly toModelOutput: (options: { readonly output: unknown }) => never
}

export interface AiSdkCallOptions {
  readonly abortSignal?: AbortSignal | undefined
}
