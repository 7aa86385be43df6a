import { SallyportError } from '@sallyport/core'
import type { RequestScope } from '../identity/identity.ts'

/** What a handler has said of private data during one call. */
interface CallStatements {
  readonly pending: Set<Promise<unknown>>
  /** Why one of them could not be understood. The result of the call is then withheld, whoever caught the error. */
  failure?: { readonly error: unknown }
  /** One of them could not be stored at once. That is tried again before the result leaves. */
  isUnstored?: true
  /** Set once the result has left: told of every statement that comes too late for it. */
  reportLate?: (error: unknown) => void
}

/** By the scope of the call, which is an object of its own for each. */
const statements = new WeakMap<RequestScope, CallStatements>()

/** How often somebody asked for private data where no caller is known. */
let unownedCount = 0

/** Counted, since nobody can tell which call it was meant for: `watchUnowned` withholds all that were in flight. */
export function countUnowned(): void {
  unownedCount++
}

/** Taken when a call begins. Asked at its end, it returns an error if a statement without a caller was made meanwhile. */
export function watchUnowned(): () => unknown {
  const before = unownedCount
  return () =>
    unownedCount === before
      ? undefined
      : new SallyportError(
          'USAGE',
          'Private data was stated where no caller is known, while this call was in flight.',
          {
            hint: 'Call privateData() inside the handler, and keep its asynchronous context.',
          },
        )
}

export function addStatement(scope: RequestScope, statement: Promise<unknown>): void {
  const stated = ensureStatements(scope)
  stated.pending.add(statement)
  const settled = (): void => void stated.pending.delete(statement)
  const failed = (): void => {
    settled()
    stated.isUnstored = true
  }
  // Nobody may await it: the release of the result does, and reports a failure.
  statement.then(settled, failed)
  stated.reportLate?.(
    new SallyportError('USAGE', 'Private data was stated after the result of the call had left.', {
      hint: 'Await addPrivateDataset() before the handler returns. The session carries the label from now on.',
    }),
  )
}

/** The statement could not be understood. */
export function failStatement(scope: RequestScope, error: unknown): void {
  const stated = ensureStatements(scope)
  stated.failure ??= { error }
  stated.reportLate?.(error)
}

/** Whether what the handler says now could be private data of which nothing durable says so. */
export function hasOpenStatement(scope: RequestScope): boolean {
  const stated = statements.get(scope)
  return stated !== undefined && (stated.pending.size > 0 || stated.isUnstored === true || stated.failure !== undefined)
}

/** Resolves once nothing of the call is pending. Throws if one of its statements could not be understood. */
export async function settleStatements(scope: RequestScope): Promise<void> {
  const stated = statements.get(scope)
  if (stated === undefined) return
  while (stated.pending.size > 0) await Promise.allSettled(stated.pending)
  if (stated.failure !== undefined) throw stated.failure.error
}

/** From now on a statement is too late for the result of the call. False if one was made that is not settled yet. */
export function closeStatements(scope: RequestScope, reportLate: (error: unknown) => void): boolean {
  const stated = ensureStatements(scope)
  if (stated.pending.size > 0 || stated.failure !== undefined) return false
  stated.reportLate = reportLate
  return true
}

function ensureStatements(scope: RequestScope): CallStatements {
  const known = statements.get(scope)
  if (known !== undefined) return known
  const made: CallStatements = { pending: new Set() }
  statements.set(scope, made)
  return made
}
