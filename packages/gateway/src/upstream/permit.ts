import { SallyportError } from '@sallyport/core'

/**
 * The right to send one call. It was given when the call was judged; the call may have waited since then, for its server
 * to start, for a connection or for a full pipe, while rules, definitions or its token changed.
 */
export interface Permit {
  /** Whether nothing has changed since the call was judged. Asked for every call, so it only compares. */
  readonly isCurrent: boolean
  /** The call is sent in this moment; more than once where it has several rounds or is redirected. */
  onSent?(): void
  /** Judges the call again. Resolves to the reason why it must not be sent, or to undefined. */
  renew(): Promise<SallyportError | undefined>
}

/** For what the gateway itself sends: handshakes, lists, health checks, cancellations, answers to servers. */
export const GATEWAY_PERMIT: Permit = Object.freeze({ isCurrent: true, renew: async () => undefined })

/**
 * Whether the bytes of a request may go to the operating system. Every transport asks this as its last act before they
 * do, and only of a request that is still wanted; where it may not, `recheckPermit` says why, or that it may by now.
 */
export function usePermit(permit: Permit): boolean {
  if (!permit.isCurrent) return false
  permit.onSent?.()
  return true
}

/**
 * Resolves to undefined once the permit is current, or to the reason why it is no longer given. Something may change once
 * more before the turn in which this resolves: whoever sends then asks `usePermit` again.
 */
export async function recheckPermit(permit: Permit): Promise<SallyportError | undefined> {
  while (!permit.isCurrent) {
    const refusal = await permit.renew().catch(toRefusal)
    if (refusal) return refusal
  }
  return undefined
}

/** The same for those who throw. */
export async function requirePermit(permit: Permit): Promise<void> {
  const refusal = await recheckPermit(permit)
  if (refusal) throw refusal
}

/** A bug of ours must not let the call pass, nor leave its caller without an answer. */
const toRefusal = (error: unknown): SallyportError =>
  error instanceof SallyportError
    ? error
    : new SallyportError('INTERNAL', 'Something broke inside the gateway before the call was sent.', { cause: error })
