import { SallyportError } from '@sallyport/core'

/** For `catch`: that another process holds the state is an answer, anything else a failure. */
export function ignoreIfLocked(error: unknown): undefined {
  if (error instanceof SallyportError && error.code === 'STATE_HELD') return undefined
  throw error
}
