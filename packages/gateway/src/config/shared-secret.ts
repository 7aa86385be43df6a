import type { IssueLog } from './issue-log.ts'
import type { Spot } from './normalise.ts'

/** RFC 7518 §3.2: the key of HS256 is at least as long as its hash. */
const SHORTEST = 32

export interface SharedSecret {
  readonly secret: string
  /** The variable that a message suggests. */
  readonly variable: string
}

/** Warns of a key that others could read or guess. */
export function checkSharedSecret({ secret, variable }: SharedSecret, at: Spot, log: IssueLog): void {
  if (at.origin === 'unresolved') return
  if (at.origin === 'written')
    log.warn(at, `a secret stands in the file. Write "\${${variable}}" and set the variable.`)
  if (Buffer.byteLength(secret) < SHORTEST)
    log.warn(at, `this secret is short enough to be guessed. Expected at least ${SHORTEST} bytes.`)
}
