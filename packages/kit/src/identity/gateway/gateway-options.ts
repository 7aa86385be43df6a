import { createPublicKey } from 'node:crypto'
import {
  findWeakness,
  GENERATE_SECRET_HINT,
  isJsonList,
  isJsonObject,
  type Json,
  type JsonObject,
  SallyportError,
  tryParseJson,
} from '@sallyport/core'
import type { JSONWebKeySet } from 'jose'
import type { Environment } from '../data-folder.ts'
import { findJwksUriProblem } from '../jwt-options.ts'
import type { JwtSettings } from '../jwt-verifier.ts'
import { isPrintableName } from '../printable-name.ts'
import { CALLER_TOKEN_ISSUER, CALLER_TOKEN_TYPE, MAX_CALLER_TOKEN_SECONDS } from './caller-token.ts'
import { CALLER_KEYS_VARIABLE, SERVER_ID_VARIABLE } from './start-environment.ts'

/** How a server verifies the tokens by which the gateway says who calls. */
export interface GatewayAuthOptions {
  /** The gateway's public keys: a JWKS, or its JSON text. Default: `$SALLYPORT_CALLER_KEYS`, which the gateway sets. */
  readonly keys?: object | string | undefined
  /** Where the gateway publishes its keys: https, or plain http on loopback. */
  readonly jwksUri?: string | undefined
  /** The id of this server in the gateway's config. Default: `$SALLYPORT_SERVER_ID`, which the gateway sets. */
  readonly audience?: string | undefined
  /** What the gateway sends as `Authorization: Bearer …`. Required over HTTP, except on loopback. */
  readonly secret?: string | undefined
}

export interface GatewaySettings {
  readonly tokens: JwtSettings
  readonly secret: string | undefined
}

const TOLERANCE_SECONDS = 5
const MIN_SECRET_BYTES = 32
/** What `Authorization: Bearer …` can carry (RFC 7235's token68). */
const HEADER_VALUE = /^[A-Za-z0-9._~+/-]+=*$/
const MAX_SECRET_LENGTH = 1_024

/** Validates `auth.gateway`. `start` has the variables that were set when the process was started. */
export function readGatewayOptions(options: true | GatewayAuthOptions, start: Environment): GatewaySettings {
  const { keys, jwksUri, audience = start[SERVER_ID_VARIABLE], secret } = readShape(options)
  if (keys !== undefined && jwksUri !== undefined)
    throw invalid('it has both keys and jwksUri', 'Pin the keys, or give the address where they are published.')
  const keySet = jwksUri === undefined ? readKeys(keys, start) : undefined
  const uriProblem = jwksUri === undefined ? undefined : findJwksUriProblem(jwksUri)
  if (uriProblem !== undefined)
    throw invalid(uriProblem, 'Give the https URL of /.well-known/jwks.json of the gateway, or pin its keys.')
  if (!isPrintableName(audience))
    throw invalid(
      'audience is missing',
      `Give the id of this server in the gateway's config. The gateway sets ${SERVER_ID_VARIABLE} for servers that it starts.`,
    )
  if (secret !== undefined) checkChannelSecret(secret)
  const tokens: JwtSettings = {
    issuers: [CALLER_TOKEN_ISSUER],
    audience: [audience],
    algorithms: ['EdDSA'],
    secret: undefined,
    jwksUri,
    keySet,
    type: CALLER_TOKEN_TYPE,
    toleranceSeconds: TOLERANCE_SECONDS,
    maxAgeSeconds: MAX_CALLER_TOKEN_SECONDS,
  }
  return { tokens, secret }
}

function readShape(options: unknown): GatewayAuthOptions {
  if (options === true) return {}
  if (isJsonObject(options)) return options as GatewayAuthOptions
  throw invalid('it is neither true nor an object', 'Give auth: { gateway: true }.')
}

function readKeys(written: object | string | undefined, start: Environment): JSONWebKeySet {
  const given = written ?? start[CALLER_KEYS_VARIABLE]
  if (given === undefined || given === '')
    throw invalid(
      `there are no keys, and ${CALLER_KEYS_VARIABLE} was not set when this process was started`,
      'Set "identity: forward" for this server in the gateway\'s config and let the gateway start it, or give keys or jwksUri. The variable does not count if it comes from a .env file.',
    )
  const where = written === undefined ? CALLER_KEYS_VARIABLE : 'keys'
  const set = typeof given === 'string' ? tryParseJson(given) : (given as Json)
  const listed = isJsonObject(set) ? set.keys : undefined
  if (!isJsonList(listed)) throw invalid(`${where} is not a JWKS`, 'Expected {"keys":[…]} with public Ed25519 keys.')
  // RFC 7517 (5): keys of other types are ignored.
  const keys = listed.filter(isJsonObject).filter(({ kty, crv }) => kty === 'OKP' && crv === 'Ed25519')
  const problem = findKeysProblem(keys)
  if (problem !== undefined) throw invalid(`${where} ${problem}`, 'Give the public keys that the gateway publishes.')
  return { keys: keys.map(({ kid, x }) => ({ kty: 'OKP', crv: 'Ed25519', kid: String(kid), x: String(x) })) }
}

function findKeysProblem(keys: readonly JsonObject[]): string | undefined {
  if (keys.length === 0) return 'has no Ed25519 key'
  if (keys.some(({ d }) => d !== undefined)) return 'has a private key, which only the gateway may have'
  if (keys.some(({ kid }) => typeof kid !== 'string' || kid === '')) return 'has a key without a kid'
  if (new Set(keys.map(({ kid }) => kid)).size < keys.length) return 'has two keys with the same kid'
  return keys.every(isUsable) ? undefined : 'has a key that is not valid'
}

function isUsable({ x, use, alg }: JsonObject): boolean {
  if (typeof x !== 'string' || (use !== undefined && use !== 'sig')) return false
  if (alg !== undefined && alg !== 'EdDSA' && alg !== 'Ed25519') return false
  try {
    createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    return true
  } catch {
    return false
  }
}

function checkChannelSecret(secret: unknown): void {
  const weakness = typeof secret === 'string' ? findSecretProblem(secret) : 'it is not a string'
  if (weakness === undefined) return
  throw invalid(`secret cannot be used: ${weakness}`, `${GENERATE_SECRET_HINT}, and give it to the gateway as well.`)
}

function findSecretProblem(secret: string): string | undefined {
  if (secret.length > MAX_SECRET_LENGTH) return `it is longer than ${MAX_SECRET_LENGTH} characters`
  if (!HEADER_VALUE.test(secret)) return 'it has characters that a bearer token cannot have'
  return findWeakness(secret, MIN_SECRET_BYTES)
}

const invalid = (problem: string, hint: string): SallyportError =>
  new SallyportError('CONFIG_INVALID', `auth.gateway cannot be used: ${problem}.`, { hint })
