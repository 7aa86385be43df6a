import { createPublicKey, type KeyObject } from 'node:crypto'
import { SallyportError } from '@sallyport/core'

const MIN_RSA_BITS = 2048
const ALGORITHMS_BY_CURVE: Readonly<Record<string, readonly string[]>> = {
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
  const key = parsePem(pem)
  const { modulusLength } = key.asymmetricKeyDetails ?? {}
  if (modulusLength !== undefined && modulusLength < MIN_RSA_BITS)
    throw unusable(`it has ${modulusLength} bits; expected at least ${MIN_RSA_BITS}`)
  const usable = listAlgorithms(key)
  const algorithms = usable.filter(wanted)
  if (algorithms.length > 0) return { key, algorithms }
  throw unusable(`it verifies ${usable.join(', ') || 'no known algorithm'}, and algorithms lists none of these`)
}

function parsePem(pem: string): KeyObject {
  try {
    return createPublicKey(pem)
  } catch (cause) {
    throw unusable('it is no PEM', cause)
  }
}

function listAlgorithms({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly string[] {
  if (asymmetricKeyType === 'rsa') return ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
  if (asymmetricKeyType === 'ed25519') return ['EdDSA', 'Ed25519']
  return ALGORITHMS_BY_CURVE[asymmetricKeyDetails?.namedCurve ?? ''] ?? []
}

const unusable = (problem: string, cause?: unknown): SallyportError =>
  new SallyportError('CONFIG_INVALID', `auth.jwt.publicKey cannot be used: ${problem}.`, {
    hint: 'Give the text of a file that begins with "-----BEGIN PUBLIC KEY-----", and algorithms that belong to it.',
    cause,
  })
