import { SallyportError } from '@sallyport/core'
import type { RequestScope } from '../identity/identity.ts'

/** The statements of one call's handler about private data. */
interface CallStatements {
  readonly pending: Set<Promise<unknown>>
  /** Why one of them is invalid. The result of the call is then withheld, even if the handler catches the error. */
  failure?: { readonly error: unknown }
  /** One of them could not be stored at once. Storing is retried before the result is released. */
  isUnstored?: true
  /** Set once the result is released: called for every statement that comes too late for it. */
  reportLate?: (error: unknown) => void
}

/** By the scope of the call; each call has its own scope object. */
const statements = new WeakMap<RequestScope, CallStatements>()

/** How often privateData() was called outside of any call. */
let unownedCount = 0

/** It is unknown which call such a statement was meant for, so `watchUnowned` withholds all that were in flight. */
export function countUnowned(): void {
  unownedCount++
}

/** Call this when a call begins. The function that it returns gives an error if a statement without a caller was made since. */
export function watchUnowned(): () => unknown {
  const before = unownedCount
  return () =>
    unownedCount === before
      ? undefined
      : new SallyportError('USAGE', 'privateData() was called without a known caller while this call was in flight.', {
          hint: 'Call privateData() inside the handler, and preserve its asynchronous context.',
        })
}

export function addStatement(scope: RequestScope, statement: Promise<unknown>): void {
  const stated = ensureStatements(scope)
  stated.pending.add(statement)
  const settled = (): void => void stated.pending.delete(statement)
  const failed = (): void => {
    settled()
    stated.isUnstored = true
  }
  // The handler may not await it, but the release of the result does, and reports a failure.
  statement.then(settled, failed)
  stated.reportLate?.(
    new SallyportError('USAGE', 'Private data was added after the result of the call was sent.', {
      hint: 'Await addPrivateDataset() before the handler returns. The session has the label from now on.',
    }),
  )
}

/** Records that a statement was invalid. */
export function failStatement(scope: RequestScope, error: unknown): void {
  const stated = ensureStatements(scope)
  stated.failure ??= { error }
  stated.reportLate?.(error)
}

/** Whether the handler's output could be private data for which no label is stored yet. */
export function hasOpenStatement(scope: RequestScope): boolean {
  const stated = statements.get(scope)
  return stated !== undefined && (stated.pending.size > 0 || stated.isUnstored === true || stated.failure !== undefined)
}

/** Resolves once no statement of the call is pending. Throws if one of them was invalid. */
export async function settleStatements(scope: RequestScope): Promise<void> {
  const stated = statements.get(scope)
  if (stated === undefined) return
  while (stated.pending.size > 0) await Promise.allSettled(stated.pending)
  if (stated.failure !== undefined) throw stated.failure.error
}

/** From now on a statement is too late for the result of the call. Returns false, and changes nothing, if one is pending or failed. */
export function closeStatements(scope: RequestScope, reportLate: (error: unknown) => void): boolean {
  const stated = ensureStatements(scope)
  if (stated.pending.size > 0 || stated.failure !== undefined) return false
  stated.reportLate = reportLate
  return true
}

function ensureStatements(scope: RequestScope): CallStatements {
  const existing = statements.get(scope)
  if (existing !== undefined) return existing
  const made: CallStatements = { pending: new Set() }
  statements.set(scope, made)
  return made
}
