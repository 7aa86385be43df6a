// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the message shows a reference.

import type { JwtSection } from './config-schema.ts'
import type { IssueLog } from './issue-log.ts'
import type { Spot } from './normalise.ts'
import { isLoopback } from './schema-parts.ts'
import { readUrl } from './server-address.ts'
import type { JwtSettings } from './settings.ts'

const DEFAULT_TOLERANCE_MS = 5_000
/** RFC 7518 §3.2: the key of HS256 is at least as long as its hash. */
const SHORTEST_SECRET = 32

const isSymmetric = (algorithm: string): boolean => algorithm.startsWith('HS')

export function readJwt(section: JwtSection, spot: Spot, log: IssueLog): JwtSettings {
  const algorithms = section.algorithms ?? defaultAlgorithms(section)
  checkKeys(section, algorithms, { spot, log })
  checkJwksUri(section, { spot, log })
  checkSecret(section, { spot, log })
  return {
    issuers: section.issuers ?? [],
    audience: typeof section.audience === 'string' ? [section.audience] : (section.audience ?? []),
    algorithms,
    jwksUri: section.jwksUri,
    secret: section.secret,
    toleranceSeconds: (section.clockTolerance ?? DEFAULT_TOLERANCE_MS) / 1_000,
  }
}

interface Report {
  readonly spot: Spot
  readonly log: IssueLog
}

/** Only what the given keys can verify: a public key must never be taken as a shared secret. */
function defaultAlgorithms(section: JwtSection): JwtSettings['algorithms'] {
  const symmetric = section.secret === undefined ? [] : ['HS256']
  const asymmetric = section.jwksUri === undefined ? [] : ['RS256', 'PS256', 'ES256', 'EdDSA']
  return [...symmetric, ...asymmetric]
}

function checkKeys(section: JwtSection, algorithms: readonly string[], { spot, log }: Report): void {
  if (section.secret === undefined && section.jwksUri === undefined) {
    log.error(spot, 'expected "jwks_uri" (public keys of the issuer) or "secret" (a shared key); got neither.')
    return
  }
  const at = spot.children.get('algorithms') ?? spot
  if (algorithms.length === 0) log.error(at, 'expected at least one algorithm; got an empty list.')
  for (const algorithm of algorithms) {
    if (isSymmetric(algorithm) && section.secret === undefined) log.error(at, `${algorithm} needs "secret"; got none.`)
    if (!isSymmetric(algorithm) && section.jwksUri === undefined)
      log.error(at, `${algorithm} needs "jwks_uri"; got none.`)
  }
}

function checkJwksUri(section: JwtSection, { spot, log }: Report): void {
  const at = spot.children.get('jwksUri')
  if (section.jwksUri === undefined || at === undefined || at.origin === 'unresolved') return
  const url = readUrl(section.jwksUri, at, log)
  if (url === undefined) return
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'https:' && !isLoopback(hostname.replaceAll(/[[\]]/g, '')))
    log.error(at, 'expected an https address: keys that came over plain http could be anybody’s.')
  if ((section.issuers ?? []).length === 0)
    log.error(spot, 'expected "issuers", since the keys of "jwks_uri" may sign for others too; got none.')
}

function checkSecret(section: JwtSection, { spot, log }: Report): void {
  const at = spot.children.get('secret')
  if (section.secret === undefined || at === undefined || at.origin === 'unresolved') return
  if (at.origin === 'written') log.warn(at, 'a secret stands in the file. Write "${JWT_SECRET}" and set the variable.')
  if (Buffer.byteLength(section.secret) < SHORTEST_SECRET)
    log.warn(at, `this secret is short enough to be guessed. Expected at least ${SHORTEST_SECRET} bytes.`)
}
