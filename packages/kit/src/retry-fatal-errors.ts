/** The model can correct this and call again: a wrong path, an empty query, a bad date. */
export class ToolRetryError extends Error {
  override readonly name = 'ToolRetryError'

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
  }
}

/** Something is broken that no other arguments would fix. The run should stop. */
export class ToolFatalError extends Error {
  override readonly name = 'ToolFatalError'
  readonly nextStep: string | undefined

  constructor(message: string, options: { readonly nextStep?: string; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.nextStep = options.nextStep
  }
}
