import { didYouMean, SallyportError } from '@sallyport/core'
import type { JwtSettings } from '../config/config.ts'

const HMAC = ['HS256', 'HS384', 'HS512']
const PUBLIC_KEY = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

/** What the keys are: a shared secret or a published set, never both. */
export type KeySource =
  | { readonly kind: 'secret'; readonly secret: Uint8Array }
  | { readonly kind: 'jwks'; readonly url: string }

/** Judges `auth.jwt` and says where its keys come from. Throws CONFIG_INVALID for a combination that could let a forged token pass. */
export function keySourceOf(settings: JwtSettings): KeySource {
  if (settings.issuers.length === 0 && settings.jwksUri !== undefined)
    throw invalid(
      'auth.jwt.issuers is empty, and the keys of jwks_uri may sign for others too.',
      'List the exact `iss` value of each issuer that you trust.',
    )
  const source = readSource(settings)
  checkAlgorithms(settings.algorithms, source)
  return source
}

function readSource({ secret, jwksUri }: JwtSettings): KeySource {
  if (secret !== undefined && jwksUri !== undefined)
    throw invalid(
      'auth.jwt has both secret and jwks_uri; one of them is expected.',
      'Keep secret for HS256 and the like, or jwks_uri for public keys: with both, a public key could pass as a secret.',
    )
  if (secret === '') throw invalid('auth.jwt.secret is empty.', 'Make one with `openssl rand -base64 48`.')
  if (secret !== undefined) return { kind: 'secret', secret: new TextEncoder().encode(secret) }
  if (jwksUri !== undefined) return { kind: 'jwks', url: readUrl(jwksUri) }
  throw invalid('auth.jwt has neither secret nor jwks_uri.', 'Say with which key tokens are signed.')
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return url.href
  throw invalid(
    'auth.jwt.jwks_uri is not an http or https URL without user and password.',
    'Take the value of jwks_uri in the /.well-known/openid-configuration of the issuer.',
  )
}

function checkAlgorithms(algorithms: readonly string[], source: KeySource): void {
  const [fitting, key] = source.kind === 'secret' ? [HMAC, 'a secret'] : [PUBLIC_KEY, 'jwks_uri']
  const hint = `With ${key} these can be listed: ${fitting.join(', ')}.`
  if (algorithms.length === 0) throw invalid('auth.jwt.algorithms is empty.', hint)
  for (const algorithm of algorithms) {
    if (fitting.includes(algorithm)) continue
    const meant = [...HMAC, ...PUBLIC_KEY].includes(algorithm) ? '' : didYouMean(algorithm, fitting)
    throw invalid(`auth.jwt.algorithms has "${algorithm}", which cannot be used with ${key}.${meant}`, hint)
  }
}

const invalid = (message: string, hint: string): SallyportError =>
  new SallyportError('CONFIG_INVALID', message, { hint })
