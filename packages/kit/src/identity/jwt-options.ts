import { createPublicKey, type KeyObject } from 'node:crypto'
import { findWeakness, GENERATE_SECRET_HINT, isLoopback, parseDuration, SallyportError } from '@sallyport/core'
import type { JwtSettings } from './jwt-verifier.ts'

/** The key that verifies bearer tokens, and the claims that they need. Exactly one of the three keys is given. */
export interface JwtOptions {
  /** A shared key, for HS256, HS384 and HS512. */
  readonly secret?: string | undefined
  /** Where the issuer publishes its keys: https, or plain http on loopback. */
  readonly jwksUri?: string | undefined
  /** One public key, as PEM. */
  readonly publicKey?: string | undefined
  /** The accepted algorithms. Default: HS256 for a secret; RS256, PS256, ES256 and EdDSA for a key set; all that a public key supports. */
  readonly algorithms?: readonly string[] | undefined
  /** The exact `iss` of the accepted issuers. Required with `jwksUri`, whose keys may sign for others too. */
  readonly issuers?: readonly string[] | undefined
  /** A token must have one of them in `aud`. If missing, a token must have no `aud`. */
  readonly audience?: string | readonly string[] | undefined
  /** How far clocks may differ, in seconds or as `30s`. Default: 5 seconds. */
  readonly clockTolerance?: number | string | undefined
  /** How long after its `iat` a token is accepted at most, in seconds or as `1h`. Default: until its `exp`. */
  readonly maxAge?: number | string | undefined
}

const DEFAULT_TOLERANCE_MS = 5_000
const MAX_TOLERANCE_MS = 600_000
/** RFC 7518 (3.2): the key of an HMAC must be at least as long as its hash. */
const MIN_SECRET_BYTES: Readonly<Record<string, number>> = { HS256: 32, HS384: 48, HS512: 64 }
const PUBLIC_KEY_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
const DEFAULT_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA']
/** RFC 9864 gave this algorithm a second name; issuers use both. */
const EDDSA_NAMES = ['EdDSA', 'Ed25519']

/** Validates `auth.jwt`, for the whole kit: the verifier needs no further checks. */
export function readJwtOptions(options: JwtOptions): JwtSettings {
  const { secret, jwksUri, publicKey } = options
  const given = [secret, jwksUri, publicKey].filter((key) => key !== undefined).length
  if (given !== 1)
    throw invalid(
      `expected one of secret, jwksUri and publicKey; got ${given === 0 ? 'none' : given}`,
      'Give one key. If it comes from a variable, check that the variable is set.',
    )
  const algorithms = readAlgorithms(options)
  const own = publicKey === undefined ? undefined : readPublicKey(publicKey, createAlgorithmFilter(options, algorithms))
  if (secret !== undefined) checkSecret(secret, algorithms)
  if (jwksUri !== undefined) checkJwksUri(jwksUri)
  return {
    issuers: readIssuers(options),
    audience: readStrings('audience', typeof options.audience === 'string' ? [options.audience] : options.audience),
    algorithms: own?.algorithms ?? algorithms,
    secret,
    jwksUri,
    publicKey: own?.key,
    toleranceSeconds: readTolerance(options.clockTolerance) / 1_000,
    maxAgeSeconds: readMaxAge(options.maxAge),
  }
}

/** A single key determines its algorithms, unless some are listed. */
const createAlgorithmFilter =
  ({ algorithms }: JwtOptions, read: readonly string[]) =>
  (name: string): boolean =>
    algorithms === undefined || read.includes(name)

/** Only algorithms that the given key can verify: a public key must never be used as a shared secret. */
function readAlgorithms({ secret, algorithms }: JwtOptions): readonly string[] {
  const known = secret === undefined ? PUBLIC_KEY_ALGORITHMS : Object.keys(MIN_SECRET_BYTES)
  const listed = algorithms ?? (secret === undefined ? DEFAULT_ALGORITHMS : ['HS256'])
  const asked = readStrings('algorithms', listed)
  if (asked.length === 0) throw invalid('algorithms is empty', `Choose from ${known.join(', ')}.`)
  const stranger = asked.find((name) => !known.includes(name))
  if (stranger !== undefined) {
    const key = secret === undefined ? 'a public key' : 'a secret'
    throw invalid(
      `algorithms has ${JSON.stringify(stranger)}, which ${key} cannot verify`,
      `Choose from ${known.join(', ')}.`,
    )
  }
  return [...new Set(asked.flatMap((name) => (EDDSA_NAMES.includes(name) ? EDDSA_NAMES : [name])))]
}

function readIssuers({ issuers, jwksUri }: JwtOptions): readonly string[] {
  const read = readStrings('issuers', issuers)
  if (jwksUri !== undefined && read.length === 0)
    throw invalid(
      'issuers is missing',
      'Name the exact `iss` of the issuer: the keys of jwksUri may sign for others too.',
    )
  // Users of several issuers are identified as `<issuer>#<sub>`.
  if (read.some((issuer) => issuer.includes('#')))
    throw invalid('an issuer contains "#"', 'Give the exact `iss` of tokens.')
  return read
}

function readStrings(key: string, value: readonly string[] | undefined): readonly string[] {
  const list: unknown = value ?? []
  if (Array.isArray(list) && list.every((text) => typeof text === 'string' && text !== '')) return list
  throw invalid(`${key} must be a list of strings`, `Give ${key} as ["…"].`)
}

function checkSecret(secret: unknown, algorithms: readonly string[]): void {
  if (typeof secret !== 'string') throw invalid('secret must be a string', 'Give the shared key as a string.')
  if (/-----BEGIN |^\s*\{\s*"/.test(secret))
    throw invalid(
      'secret contains a public or private key',
      'Give a public key as publicKey, with algorithms such as RS256.',
    )
  for (const algorithm of algorithms) {
    const weakness = findWeakness(secret, MIN_SECRET_BYTES[algorithm] ?? 0)
    if (weakness !== undefined)
      throw invalid(`secret can be guessed: ${weakness} for ${algorithm}`, `${GENERATE_SECRET_HINT}.`)
  }
}

function checkJwksUri(uri: unknown): void {
  const problem = findJwksUriProblem(uri)
  if (problem !== undefined) throw invalid(problem, 'Give the https URL at which the issuer publishes its keys.')
}

/** Why keys must not be fetched from there. */
export function findJwksUriProblem(uri: unknown): string | undefined {
  const url = typeof uri === 'string' && URL.canParse(uri) ? new URL(uri) : undefined
  if (url === undefined) return 'jwksUri is not a valid URL'
  if (url.username !== '' || url.password !== '') return 'jwksUri contains a password'
  if (url.protocol === 'https:') return undefined
  if (url.protocol === 'http:' && isLoopback(url.hostname.replaceAll(/[[\]]/g, ''))) return undefined
  return 'jwksUri is not https: keys that are fetched over plain http could come from anybody'
}

function readTolerance(value: number | string | undefined): number {
  const ms = value === undefined ? DEFAULT_TOLERANCE_MS : parseDuration(value, 's')
  if (ms !== undefined && ms <= MAX_TOLERANCE_MS) return ms
  throw invalid('clockTolerance is not a duration of at most 10 minutes', 'Give seconds, or a string such as "30s".')
}

function readMaxAge(value: number | string | undefined): number | undefined {
  if (value === undefined) return undefined
  const ms = parseDuration(value, 's')
  if (ms !== undefined && ms >= 1_000) return ms / 1_000
  throw invalid('maxAge is not a duration of at least 1 second', 'Give seconds, or a string such as "1h".')
}

const invalid = (problem: string, hint: string): SallyportError =>
  new SallyportError('CONFIG_INVALID', `auth.jwt cannot be used: ${problem}.`, { hint })

const MIN_RSA_BITS = 2048
const ALGORITHMS_BY_CURVE: Readonly<Record<string, readonly string[]>> = {
  prime256v1: ['ES256'],
  secp384r1: ['ES384'],
  secp521r1: ['ES512'],
}

interface PublicKey {
  readonly key: KeyObject
  /** The algorithms that it can verify and that are accepted. */
  readonly algorithms: readonly string[]
}

function readPublicKey(pem: string, isAccepted: (algorithm: string) => boolean): PublicKey {
  // Node would silently derive the public key, but a verifier should not have the private one.
  if (typeof pem !== 'string' || /PRIVATE KEY-----/.test(pem)) throw unusable('it is not a public key')
  const key = parsePem(pem)
  const { modulusLength } = key.asymmetricKeyDetails ?? {}
  if (modulusLength !== undefined && modulusLength < MIN_RSA_BITS)
    throw unusable(`it has ${modulusLength} bits; expected at least ${MIN_RSA_BITS}`)
  const usable = listAlgorithms(key)
  const algorithms = usable.filter(isAccepted)
  if (algorithms.length > 0) return { key, algorithms }
  throw unusable(`it verifies ${usable.join(', ') || 'no known algorithm'}, and algorithms lists none of these`)
}

function parsePem(pem: string): KeyObject {
  try {
    return createPublicKey(pem)
  } catch (cause) {
    throw unusable('it is not valid PEM', cause)
  }
}

function listAlgorithms({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly string[] {
  if (asymmetricKeyType === 'rsa') return ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
  if (asymmetricKeyType === 'ed25519') return ['EdDSA', 'Ed25519']
  return ALGORITHMS_BY_CURVE[asymmetricKeyDetails?.namedCurve ?? ''] ?? []
}

const unusable = (problem: string, cause?: unknown): SallyportError =>
  new SallyportError('CONFIG_INVALID', `auth.jwt.publicKey cannot be used: ${problem}.`, {
    hint: 'Give the text of a file that begins with "-----BEGIN PUBLIC KEY-----", and algorithms that fit it.',
    cause,
  })
