import { findWeakness, GENERATE_SECRET_HINT, parseSensitivity, SallyportError, type Sensitivity } from '@sallyport/core'

/** How a server labels sessions that hold private data. */
export interface LabelOptions {
  /** Signs the labels that results carry. At least 32 bytes, the same where they are verified. */
  readonly secret?: string
  /** From where on a session counts as private. Absent: CONFIDENTIAL. */
  readonly privateFrom?: Sensitivity
}

export interface LabelSettings {
  readonly secret: string | undefined
  readonly privateFrom: Sensitivity
}

const MIN_SECRET_BYTES = 32

export function readLabelOptions({ secret, privateFrom = 'CONFIDENTIAL' }: LabelOptions = {}): LabelSettings {
  if (secret !== undefined) checkLabelSecret(secret)
  return { secret, privateFrom: parseSensitivity(privateFrom, 'labels.privateFrom') }
}

/** Whoever knows the secret can only raise labels; one that can be guessed would let anybody. */
export function checkLabelSecret(secret: unknown): void {
  const weakness = typeof secret === 'string' ? findWeakness(secret, MIN_SECRET_BYTES) : 'it is not a string'
  if (weakness === undefined) return
  throw new SallyportError('CONFIG_INVALID', `The secret that signs labels can be guessed: ${weakness}.`, {
    hint: `${GENERATE_SECRET_HINT}.`,
  })
}
