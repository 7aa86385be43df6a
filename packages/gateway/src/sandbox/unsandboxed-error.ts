import { type NetworkMode, SallyportError } from '@sallyport/core'

/** A server whose entry refuses the sandbox (`allow_unsandboxed`) was to run for a session that holds private data. */
export function unsandboxedError(server: string, mode: NetworkMode): SallyportError {
  const why = 'it runs without a sandbox (sandbox: none), so nothing limits what it can reach'
  return new SallyportError(
    'SANDBOX_UNAVAILABLE',
    `[FATAL] server "${server}" cannot run in network mode ${mode}: ${why}.`,
    {
      hint: `The operator can run it in a sandbox (remove "sandbox: none" from its entry in config.yaml); or do this step in a new session, which has not read private data.`,
    },
  )
}
