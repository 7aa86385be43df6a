/**
 * A tool of the AI SDK. Its types are not named here, so that those of the kit can be read without that package:
 * `never` fits whatever it wants there.
 */
export interface AiSdkTool {
  readonly description: string
  /** What `jsonSchema(…)` of the AI SDK gives. */
  readonly inputSchema: never
  readonly execute: (input: unknown, options: AiSdkCallOptions) => Promise<unknown>
  readonly toModelOutput: (options: { readonly output: unknown }) => never
}

export interface AiSdkCallOptions {
  readonly abortSignal?: AbortSignal | undefined
}
