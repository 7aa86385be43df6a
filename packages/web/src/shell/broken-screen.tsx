import { useRouteError } from 'react-router'
import { Failed } from '../parts/states.tsx'

/** A bug in one screen must not take the others away. */
export function BrokenScreen() {
  const thrown = useRouteError()
  const error = thrown instanceof Error ? thrown : new Error('This screen could not be shown.')
  return <Failed error={error} onRetry={() => location.reload()} />
}
