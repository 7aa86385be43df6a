/** A private key as a JWK (RFC 8037). */
export interface PrivateJwk {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  readonly d: string
}

/** A key that signs caller tokens. */
export interface CallerKey {
  /** The thumbprint of its public part (RFC 7638). */
  readonly kid: string
  /** In milliseconds since 1970. It is published before that, so that servers know it in time. */
  readonly signsFrom: number
  readonly jwk: PrivateJwk
}

const DAY_MS = 86_400_000

/** How long one key signs. */
export const SIGNING_PERIOD_MS = 30 * DAY_MS
/** How long a new key is published before it signs, and an old one after it has signed for the last time. */
export const OVERLAP_MS = 7 * DAY_MS

/** The key that signs for servers that read the published keys. */
export function findSigningKey(keys: readonly CallerKey[], now: number): CallerKey | undefined {
  // By a clock that was set back, no key may sign yet: then the oldest does, which servers know best.
  return keys.findLast(({ signsFrom }) => signsFrom <= now) ?? keys[0]
}

/** Whether a key is missing, or one is no longer needed. */
export const isDue = (keys: readonly CallerKey[], now: number): boolean =>
  isSuccessorDue(keys, now) || retainNeeded(keys, now).length < keys.length

/** The set with a new key if one is due, and without those that nobody needs any more. Oldest first. */
export function renewKeys(
  keys: readonly CallerKey[],
  now: number,
  create: (signsFrom: number) => CallerKey,
): readonly CallerKey[] {
  const newest = keys.at(-1)
  // Nobody has an earlier key, so that the first one signs at once.
  const signsFrom = newest === undefined ? now : Math.max(newest.signsFrom + SIGNING_PERIOD_MS, now + OVERLAP_MS)
  return retainNeeded(isSuccessorDue(keys, now) ? [...keys, create(signsFrom)] : keys, now)
}

function isSuccessorDue(keys: readonly CallerKey[], now: number): boolean {
  const newest = keys.at(-1)
  return newest === undefined || now >= newest.signsFrom + SIGNING_PERIOD_MS - OVERLAP_MS
}

/** A key is needed until the key after it has signed for a while. */
const retainNeeded = (keys: readonly CallerKey[], now: number): readonly CallerKey[] =>
  keys.filter((_, index) => {
    const next = keys[index + 1]
    return next === undefined || now < next.signsFrom + OVERLAP_MS
  })
