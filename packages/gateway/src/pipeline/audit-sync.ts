import { SallyportError } from '@sallyport/core'
import type { PipelineOptions } from './pipeline.ts'

/** Runs beside the call. Its failure is a value: it may come long before anybody waits for it. */
export function syncRecords({
  audit,
  log,
}: Pick<PipelineOptions, 'audit' | 'log'>): Promise<SallyportError | undefined> | undefined {
  if (audit().durability !== 'power') return undefined
  return log.sync().then(
    () => undefined,
    (cause: unknown) => {
      if (!audit().required) return undefined
      if (cause instanceof SallyportError) return cause
      return new SallyportError('AUDIT_UNAVAILABLE', 'The record could not be synced to disk.', { cause })
    },
  )
}
