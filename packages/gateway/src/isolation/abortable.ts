import { callCancelledError, SallyportError } from '@sallyport/core'
import { limitReached } from './run-budget.ts'

/** Ends with the signal, whether or not the work heeds it. */
export function abortable<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

export interface TimedWork<Value> {
  /** The caller's. */
  readonly signal: AbortSignal
  /** In milliseconds. */
  readonly timeoutMs: number
  readonly run: (signal: AbortSignal) => Promise<Value>
}

/** The work, an error of ours, or that time ran out: never anything that is thrown but a bug. */
export async function runWithTimeout<Value>({
  signal,
  timeoutMs,
  run,
}: TimedWork<Value>): Promise<Value | SallyportError> {
  const clock = AbortSignal.timeout(timeoutMs)
  const ending = AbortSignal.any([signal, clock])
  try {
    return await abortable(run(ending), ending)
  } catch (error) {
    if (signal.aborted) return callCancelledError('the caller left while the isolated call ran')
    if (clock.aborted) return limitReached(`it took longer than ${timeoutMs / 1_000} seconds`, 'max_time')
    if (error instanceof SallyportError) return error
    throw error
  }
}
