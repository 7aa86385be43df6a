/**
 * What a connector could not do. Retryable: other arguments, or another try, may help; otherwise something is broken
 * that no argument mends. Connectors know nothing of MCP: the server's seam makes a tool error of it.
 */
export class ConnectorError extends Error {
  override readonly name = 'ConnectorError'
  readonly retryable: boolean
  readonly nextStep: string | undefined

  constructor(
    message: string,
    options: { readonly retryable: boolean; readonly nextStep?: string; readonly cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.retryable = options.retryable
    this.nextStep = options.nextStep
  }
}
