/**
 * An error of a connector. Retryable: other arguments or a retry may help. Otherwise something is broken that no
 * argument can fix. Connectors know nothing about MCP: the server converts this to a tool error.
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
