import { findWeakness, GENERATE_SECRET_HINT, parseSensitivity, SallyportError, type Sensitivity } from '@sallyport/core'

/** How a server labels sessions that hold private data. */
export interface LabelOptions {
  /** Signs the labels in results. At least 32 bytes; the verifier needs the same secret. */
  readonly secret?: string
  /** From this sensitivity on a session counts as private. Default: CONFIDENTIAL. */
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

/** With the secret one can only raise labels, but with a weak secret anybody could. */
export function checkLabelSecret(secret: unknown): void {
  const weakness = typeof secret === 'string' ? findWeakness(secret, MIN_SECRET_BYTES) : 'it is not a string'
  if (weakness === undefined) return
  throw new SallyportError('CONFIG_INVALID', `The secret that signs labels can be guessed: ${weakness}.`, {
    hint: `${GENERATE_SECRET_HINT}.`,
  })
}
