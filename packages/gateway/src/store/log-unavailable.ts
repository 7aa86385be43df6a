import { SallyportError } from '@sallyport/core'
import { describeDiskError, suggestDiskFix } from '../disk/disk.ts'

/** Told to callers too, so that it does not say where the log is. */
export function logUnavailable(cause: unknown): SallyportError {
  return new SallyportError('AUDIT_UNAVAILABLE', `The event log cannot be written: ${describeDiskError(cause)}.`, {
    hint: `${suggestDiskFix(cause)} Recording goes on by itself once that is done.`,
    cause,
  })
}
