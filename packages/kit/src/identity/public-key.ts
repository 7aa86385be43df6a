import { createPublicKey, type KeyObject } from 'node:crypto'
import { SallyportError } from '@sallyport/core'

const LEAST_RSA_BITS = 2048
const CURVES: Readonly<Record<string, readonly string[]>> = {
  prime256v1: ['ES256'],
  secp384r1: ['ES384'],
  secp521r1: ['ES512'],
}

export interface PublicKey {
  readonly key: KeyObject
  /** Those that it can verify and that are wanted. */
  readonly algorithms: readonly string[]
}

export function readPublicKey(pem: string, wanted: (algorithm: string) => boolean): PublicKey {
  // Node would quietly derive the public half: whoever verifies has no need to hold the private one.
  if (typeof pem !== 'string' || /PRIVATE KEY-----/.test(pem)) throw unusable('it is no public key')
  const key = parse(pem)
  const { modulusLength } = key.asymmetricKeyDetails ?? {}
  if (modulusLength !== undefined && modulusLength < LEAST_RSA_BITS)
    throw unusable(`it has ${modulusLength} bits; expected at least ${LEAST_RSA_BITS}`)
  const usable = algorithmsOf(key)
  const algorithms = usable.filter(wanted)
  if (algorithms.length > 0) return { key, algorithms }
  throw unusable(`it verifies ${usable.join(', ') || 'no known algorithm'}, and algorithms lists none of these`)
}

function parse(pem: string): KeyObject {
  try {
    return createPublicKey(pem)
  } catch (cause) {
    throw unusable('it is no PEM', cause)
  }
}

function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly string[] {
  if (asymmetricKeyType === 'rsa') return ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
  if (asymmetricKeyType === 'ed25519') return ['EdDSA', 'Ed25519']
  return CURVES[asymmetricKeyDetails?.namedCurve ?? ''] ?? []
}

const unusable = (problem: string, cause?: unknown): SallyportError =>
  new SallyportError('CONFIG_INVALID', `auth.jwt.publicKey cannot be used: ${problem}.`, {
    hint: 'Give the text of a file that begins with "-----BEGIN PUBLIC KEY-----", and algorithms that belong to it.',
    cause,
  })
