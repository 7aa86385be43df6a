import { findWeakness, GENERATE_SECRET_HINT } from '@sallyport/core'
import type { IssueLog } from './issue-log.ts'
import type { ConfigNode } from './normalise.ts'

/** RFC 7518 (3.2): the key of an HMAC is at least as long as its hash. */
const MIN_BYTES: Readonly<Record<string, number>> = { HS384: 48, HS512: 64 }
const MIN_BYTES_SHA256 = 32

export interface SharedSecret {
  readonly secret: string
  /** The variable that a message suggests. */
  readonly variable: string
  /** What it signs with; HS256 if missing. */
  readonly algorithms?: readonly string[]
}

/** Refuses a key that others could guess, and warns of one that others could read. */
export function checkSharedSecret(
  { secret, variable, algorithms = [] }: SharedSecret,
  at: ConfigNode,
  log: IssueLog,
): void {
  if (at.origin === 'unresolved') return
  if (at.origin === 'written')
    log.warn(at, `a secret stands in the file. Write "\${${variable}}" and set the variable.`)
  const minBytes = Math.max(MIN_BYTES_SHA256, ...algorithms.map((name) => MIN_BYTES[name] ?? 0))
  const weakness = findWeakness(secret, minBytes)
  if (weakness !== undefined)
    log.error(
      at,
      `this secret can be guessed: ${weakness}. ${GENERATE_SECRET_HINT}, and set the variable ${variable} to it.`,
    )
}
