import { findWeakness, GENERATE_SECRET_HINT, isLoopback } from '@sallyport/core'
import type { JwtSection } from '../reading/config-schema.ts'
import type { IssueLog } from '../reading/issue-log.ts'
import type { ConfigNode } from '../reading/normalize.ts'
import { readUrl } from '../servers/server-address.ts'
import type { JwtSettings } from '../settings.ts'

const DEFAULT_TOLERANCE_MS = 5_000

const DEFAULT_SECRET_ALGORITHMS = ['HS256']
const DEFAULT_KEY_SET_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA']
/** RFC 9864 gave the algorithm a second name; issuers use both. */
const EDDSA_NAMES = ['EdDSA', 'Ed25519']

const isSymmetric = (algorithm: string): boolean => algorithm.startsWith('HS')

/** The only place where `auth.jwt` is validated: users of the result need no further checks. */
export function readJwt(section: JwtSection, node: ConfigNode, log: IssueLog): JwtSettings {
  const algorithms = section.algorithms ?? defaultAlgorithms(section)
  checkKeys(section, algorithms, { node, log })
  checkIssuers(section, { node, log })
  checkJwksUri(section, { node, log })
  checkSecret(section, algorithms, { node, log })
  return {
    issuers: section.issuers ?? [],
    audience: typeof section.audience === 'string' ? [section.audience] : (section.audience ?? []),
    algorithms: [...new Set(algorithms.flatMap((name) => (EDDSA_NAMES.includes(name) ? EDDSA_NAMES : [name])))],
    jwksUri: section.jwksUri,
    secret: section.secret,
    toleranceSeconds: (section.clockTolerance ?? DEFAULT_TOLERANCE_MS) / 1_000,
    maxAgeSeconds: section.maxAge === undefined ? undefined : section.maxAge / 1_000,
  }
}

interface SectionContext {
  readonly node: ConfigNode
  readonly log: IssueLog
}

/** Only algorithms for the configured keys: a public key must never be used as a shared secret. */
function defaultAlgorithms({ secret, jwksUri }: JwtSection): readonly string[] {
  return [
    ...(secret === undefined ? [] : DEFAULT_SECRET_ALGORITHMS),
    ...(jwksUri === undefined ? [] : DEFAULT_KEY_SET_ALGORITHMS),
  ]
}

/** Both kinds of keys may be configured together, each with its own algorithms. */
function checkKeys(
  { secret, jwksUri }: JwtSection,
  algorithms: readonly string[],
  { node, log }: SectionContext,
): void {
  if (secret === undefined && jwksUri === undefined) {
    log.error(node, 'expected "jwks_uri" (public keys of the issuer) or "secret" (a shared key); got neither.')
    return
  }
  const at = node.children.get('algorithms') ?? node
  if (algorithms.length === 0) return log.error(at, 'expected at least one algorithm; got an empty list.')
  for (const algorithm of algorithms) {
    if (isSymmetric(algorithm) && secret === undefined) log.error(at, `${algorithm} needs "secret"; got none.`)
    if (!isSymmetric(algorithm) && jwksUri === undefined) log.error(at, `${algorithm} needs "jwks_uri"; got none.`)
  }
  if (secret !== undefined && !algorithms.some(isSymmetric))
    log.error(at, 'expected one of HS256, HS384 and HS512 for "secret"; got none, so it would never be used.')
  if (jwksUri !== undefined && algorithms.every(isSymmetric))
    log.error(at, 'expected an algorithm such as RS256 for "jwks_uri"; got none, so it would never be used.')
}

function checkIssuers({ issuers = [], jwksUri }: JwtSection, { node, log }: SectionContext): void {
  if (jwksUri !== undefined && issuers.length === 0)
    log.error(node, 'expected "issuers", because the keys of "jwks_uri" may sign for other issuers too; got none.')
  for (const [index, issuer] of issuers.entries()) {
    const at = node.children.get('issuers')?.children.get(index) ?? node
    // Users are identified as `<issuer>#<sub>`.
    if (issuer.includes('#') && at.origin !== 'unresolved')
      log.error(at, 'expected the exact `iss` of an issuer, which has no "#".')
  }
}

function checkJwksUri({ jwksUri }: JwtSection, { node, log }: SectionContext): void {
  const at = node.children.get('jwksUri')
  if (jwksUri === undefined || at === undefined || at.origin === 'unresolved') return
  const url = readUrl(jwksUri, at, log)
  if (url === undefined) return
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'https:' && !isLoopback(hostname.replaceAll(/[[\]]/g, '')))
    log.error(at, 'expected an https address: keys that are loaded over plain http could be forged.')
}

function checkSecret({ secret }: JwtSection, algorithms: readonly string[], { node, log }: SectionContext): void {
  const at = node.children.get('secret')
  if (secret !== undefined && at !== undefined)
    checkSharedSecret({ secret, variable: 'JWT_SECRET', algorithms }, at, log)
}

/** RFC 7518 (3.2): the key of an HMAC is at least as long as its hash. */
const MIN_BYTES: Readonly<Record<string, number>> = { HS384: 48, HS512: 64 }
const MIN_BYTES_SHA256 = 32

interface SharedSecret {
  readonly secret: string
  /** The name of the variable that a message suggests. */
  readonly variable: string
  /** The algorithms that use the secret. Default: HS256. */
  readonly algorithms?: readonly string[]
}

/** Rejects a secret that can be guessed, and warns of one that is written in the file. */
export function checkSharedSecret(
  { secret, variable, algorithms = [] }: SharedSecret,
  at: ConfigNode,
  log: IssueLog,
): void {
  if (at.origin === 'unresolved') return
  if (at.origin === 'written')
    log.warn(at, `this secret is written in the file. Write "\${${variable}}" instead, and set the variable.`)
  const minBytes = Math.max(MIN_BYTES_SHA256, ...algorithms.map((name) => MIN_BYTES[name] ?? 0))
  const weakness = findWeakness(secret, minBytes)
  if (weakness !== undefined)
    log.error(
      at,
      `this secret can be guessed: ${weakness}. ${GENERATE_SECRET_HINT}, and set the variable ${variable} to it.`,
    )
}
