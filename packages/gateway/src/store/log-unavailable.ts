import { SallyportError } from '@sallyport/core'
import { diskFix, diskReason } from '../disk/disk.ts'

export function logUnavailable(path: string, cause: unknown): SallyportError {
  return new SallyportError('AUDIT_UNAVAILABLE', `The event log ${path} cannot be written: ${diskReason(cause)}.`, {
    hint: `${diskFix(cause)} Recording goes on by itself once that is done.`,
    cause,
  })
}
