import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import {
  HIGHEST_SENSITIVITY,
  higherSensitivity,
  isJsonList,
  isJsonObject,
  isSensitivity,
  type Json,
  type JsonObject,
  type Sensitivity,
  tryParseJson,
} from '@sallyport/core'
import type { PrivateDataset } from './label.ts'
import { checkLabelSecret } from './label-settings.ts'

/** A label, and the session that it is valid for. */
export interface SessionClaim extends LabelClaim {
  /** The server's session id. */
  readonly session: string
}

export interface SigningOptions {
  readonly secret: string
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

export interface VerifyingOptions {
  readonly secret: string
  /** The expected session, if it is known. A label of another session is then rejected. */
  readonly session?: string | undefined
}

/** What is checked before a client trusts a label. */
export interface LabelTrust {
  /** The server's secret. If missing, the server and the channel to it are trusted. */
  readonly secret?: string | undefined
  readonly session?: string | undefined
}

/** A compact JWS. Its header is constant, so nobody can choose another algorithm. */
const HEADER = encodeJson({ alg: 'HS256', typ: 'sallyport-label' })
const MAX_TOKEN_LENGTH = 256 * 1024

/** Signs a label, so that a client with the same secret can verify it. */
export function signLabel(claim: SessionClaim, { secret, now = Date.now }: SigningOptions): string {
  checkLabelSecret(secret)
  const { session, sensitivity, datasets } = claim
  const payload = { session, sensitivity, datasets, iat: Math.floor(now() / 1000), jti: randomUUID() }
  const body = `${HEADER}.${encodeJson(payload)}`
  return `${body}.${computeMac(body, secret).toString('base64url')}`
}

/**
 * Returns the label if it was signed with the secret, otherwise `undefined`. It does not expire: labels are merged by
 * maximum, so a replayed label has no further effect.
 */
export function verifyLabel(signed: unknown, { secret, session }: VerifyingOptions): SessionClaim | undefined {
  checkLabelSecret(secret)
  if (typeof signed !== 'string' || signed.length > MAX_TOKEN_LENGTH) return undefined
  const [header, payload, signature, ...rest] = signed.split('.')
  if (header !== HEADER || payload === undefined || signature === undefined || rest.length > 0) return undefined
  const expected = computeMac(`${header}.${payload}`, secret).toString('base64url')
  if (!isEqualConstantTime(signature, expected)) return undefined
  const label = readPayload(payload)
  return label !== undefined && (session === undefined || label.session === session) ? label : undefined
}

/** The trusted part of `_meta["sallyport/private_data"]`; `undefined` if there is none. */
export function readLabelMeta(value: unknown, { secret, session }: LabelTrust): LabelClaim | undefined {
  if (value === undefined) return undefined
  if (secret === undefined) return readLabelClaim(value)
  return isJsonObject(value) ? verifyLabel(value.signed, { secret, session }) : undefined
}

/** A derived key: if the same secret also signs user tokens, neither can be used as the other. */
function computeMac(body: string, secret: string): Buffer {
  const key = createHmac('sha256', secret).update('sallyport/private_data').digest()
  return createHmac('sha256', key).update(body).digest()
}

function isEqualConstantTime(actual: string, expected: string): boolean {
  const [a, b] = [Buffer.from(actual), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function encodeJson(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function readPayload(payload: string): SessionClaim | undefined {
  const value = tryParseJson(Buffer.from(payload, 'base64url').toString())
  if (!isJsonObject(value) || typeof value.session !== 'string') return undefined
  return { session: value.session, ...readLabelClaim(value) }
}

/** A server's claim about a session, for a gateway or a client. */
export interface LabelClaim {
  readonly sensitivity: Sensitivity
  readonly datasets: readonly PrivateDataset[]
}

/** Reads a claim: its sensitivity is the highest in it, and anything unreadable counts as the strictest. */
export function readLabelClaim(value: unknown): LabelClaim {
  if (!isJsonObject(value)) return { sensitivity: HIGHEST_SENSITIVITY, datasets: [] }
  const listed = isJsonList(value.datasets) ? value.datasets : []
  const datasets = listed.filter(isDataset).map(({ name, sensitivity }) => ({ name, sensitivity }))
  const levels = datasets.map(({ sensitivity }) => sensitivity)
  const whole = datasets.length < listed.length ? HIGHEST_SENSITIVITY : readOverallSensitivity(value, levels)
  return { sensitivity: levels.reduce(higherSensitivity, whole), datasets }
}

/** Without an overall sensitivity, that of the datasets is used. */
function readOverallSensitivity({ sensitivity }: JsonObject, levels: readonly Sensitivity[]): Sensitivity {
  if (sensitivity === undefined && levels[0] !== undefined) return levels[0]
  return isSensitivity(sensitivity) ? sensitivity : HIGHEST_SENSITIVITY
}

function isDataset(value: Json): value is Json & PrivateDataset {
  return isJsonObject(value) && typeof value.name === 'string' && isSensitivity(value.sensitivity)
}
