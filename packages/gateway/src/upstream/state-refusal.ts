import { type ErrorCode, formatDuration, hideHostPaths, SallyportError, serverOfInstance } from '@sallyport/core'
import type { UpstreamState, UpstreamStatus } from './upstream-status.ts'

const CODES: Readonly<Partial<Record<UpstreamState, ErrorCode>>> = {
  disabled: 'UPSTREAM_DISABLED',
  starting: 'UPSTREAM_STARTING',
  restarting: 'UPSTREAM_RESTARTING',
  broken: 'UPSTREAM_BROKEN',
  'needs-login': 'UPSTREAM_NEEDS_LOGIN',
}

export type ServerState = Pick<UpstreamStatus, 'id' | 'state'> & Partial<Pick<UpstreamStatus, 'reason' | 'retryAt'>>

/** The error of a call whose server cannot take it: the state, the reason, and until when. */
export function stateRefusal({ id, state, reason, retryAt }: ServerState, now: number): SallyportError {
  const server = serverOfInstance(id)
  const isIsolated = server !== id
  const next =
    retryAt === undefined
      ? ''
      : retryAt > now
        ? ` Next attempt in ${formatDuration(retryAt - now)}.`
        : ' The next attempt is running.'
  const why = reason === undefined ? '' : `: ${hideHostPaths(reason.replace(/\.$/, ''))}`
  return new SallyportError(CODES[state] ?? 'UPSTREAM_UNAVAILABLE', `Server ${id} is ${state}${why}.${next}`, {
    hint: `${isIsolated ? 'Calls of sessions with private data go to this instance only. ' : ''}See \`sallyport servers ${server}\`.`,
  })
}
