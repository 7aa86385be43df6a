import type { Principal } from '@sallyport/core'

/** Whom a verified credential speaks for, and until when. */
export interface Credential {
  readonly principal: Principal
  /** Milliseconds since 1970; `Infinity` where it ends only by being revoked. */
  readonly expiresAt: number
}
