import { SallyportError } from '@sallyport/core'

/**
 * The right to send one call. It is given with the policy decision. Since then the call may have waited for its server
 * to start, for a connection or for a full pipe, while rules, definitions or its token changed.
 */
export interface Permit {
  /** Whether nothing has changed since the decision. Checked for every call, so it only compares. */
  readonly isCurrent: boolean
  /** The call is sent now; called several times if it has several rounds or is redirected. */
  onSent?(): void
  /** The server had forgotten the session and did not carry out the call: it is sent again. */
  onResent?(): void
  /** Rechecks the call. Resolves to the reason why it must not be sent, or to `undefined`. */
  renew(): Promise<SallyportError | undefined>
}

/** For messages of the gateway itself: handshakes, lists, health checks, cancellations, answers to servers. */
export const GATEWAY_PERMIT: Permit = Object.freeze({ isCurrent: true, renew: async () => undefined })

/** The right to send one request for several calls: it is sent as long as one of them may be. */
export class SharedPermit implements Permit {
  readonly #permits = new Set<Permit>()

  /** Without a permit, it is the gateway that wants it: it renews what was granted before. */
  add(permit: Permit = GATEWAY_PERMIT): void {
    this.#permits.add(permit)
  }

  get isCurrent(): boolean {
    return [...this.#permits].some((permit) => permit.isCurrent)
  }

  onSent(): void {
    for (const permit of this.#permits) permit.onSent?.()
  }

  async renew(): Promise<SallyportError | undefined> {
    let refusal: SallyportError | undefined
    for (const permit of this.#permits) {
      refusal = await recheckPermit(permit)
      if (refusal === undefined) return undefined
    }
    return refusal
  }
}

/**
 * Whether the bytes of a request may go to the operating system. Every transport checks this as the last step before it
 * writes, and only for a request that is still wanted. If not, `recheckPermit` returns the reason, or says that it may
 * be sent by now.
 */
export function usePermit(permit: Permit): boolean {
  if (!permit.isCurrent) return false
  permit.onSent?.()
  return true
}

/**
 * Resolves to `undefined` once the permit is valid, or to the reason why it is not. Something may change again before
 * the caller continues, so the sender must check `usePermit` again.
 */
export async function recheckPermit(permit: Permit): Promise<SallyportError | undefined> {
  while (!permit.isCurrent) {
    const refusal = await permit.renew().catch(toRefusal)
    if (refusal) return refusal
  }
  return undefined
}

/** The same, but throws the reason. */
export async function requirePermit(permit: Permit): Promise<void> {
  const refusal = await recheckPermit(permit)
  if (refusal) throw refusal
}

/** A bug of ours must not let the call pass, nor leave its caller without an answer. */
const toRefusal = (error: unknown): SallyportError =>
  error instanceof SallyportError
    ? error
    : new SallyportError('INTERNAL', 'Something broke inside the gateway before the call was sent.', { cause: error })
