import type { Principal } from '@sallyport/core'

/** The principal of a verified credential, and how long it is valid. */
export interface Credential {
  readonly principal: Principal
  /** Milliseconds since 1970; `Infinity` if it is valid until it is revoked. */
  readonly expiresAt: number
}
