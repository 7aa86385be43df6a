import { parseSensitivity, SallyportError, type Sensitivity } from '@sallyport/core'

export interface LabelOptions {
  /** Signs the labels that results carry. At least 32 characters, the same where they are verified. */
  readonly secret?: string
  /** From where on a session counts as private. Absent: CONFIDENTIAL. */
  readonly privateFrom?: Sensitivity
}

export interface LabelSettings {
  readonly secret: string | undefined
  readonly privateFrom: Sensitivity
}

const SHORTEST_SECRET = 32

export function readLabelOptions({ secret, privateFrom = 'CONFIDENTIAL' }: LabelOptions = {}): LabelSettings {
  if (secret !== undefined) checkSecret(secret)
  return { secret, privateFrom: parseSensitivity(privateFrom, 'labels.privateFrom') }
}

/** Whoever knows the secret can only raise labels; one that can be guessed would let anybody. */
export function checkSecret(secret: unknown): void {
  if (typeof secret === 'string' && secret.length >= SHORTEST_SECRET) return
  throw new SallyportError('CONFIG_INVALID', 'The secret that signs labels is too short.', {
    hint: `Expected at least ${SHORTEST_SECRET} characters, such as those of: openssl rand -hex 32`,
  })
}
