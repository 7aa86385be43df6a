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
  /** The session as the server knows it. */
  readonly session: string
}

export interface SigningOptions {
  readonly secret: string
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

export interface VerifyingOptions {
  readonly secret: string
  /** Where it is known which session the server means; a label of another one is then no good. */
  readonly session?: string | undefined
}

/** What a label has to prove before a client believes it. */
export interface LabelTrust {
  /** Of the server. Absent: the server itself, and the channel to it, are trusted. */
  readonly secret?: string | undefined
  readonly session?: string | undefined
}

/** A compact JWS. Its header never varies, so nobody can talk a verifier into another algorithm. */
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
 * The label if it was signed with the secret, nothing otherwise. It has no end: labels are merged by maximum, so one
 * that is shown again can only raise what it had raised before.
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

/** The value of `_meta["sallyport/private_data"]`, as far as it can be believed. Nothing where there is none. */
export function readLabelMeta(value: unknown, { secret, session }: LabelTrust): LabelClaim | undefined {
  if (value === undefined) return undefined
  if (secret === undefined) return readLabelClaim(value)
  return isJsonObject(value) ? verifyLabel(value.signed, { secret, session }) : undefined
}

/** A key of its own: where the secret also signs tokens of users, neither can be taken for the other. */
function computeMac(body: string, secret: string): Buffer {
  const key = createHmac('sha256', secret).update('sallyport/private_data').digest()
  return createHmac('sha256', key).update(body).digest()
}

function isEqualConstantTime(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
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

/** What a server says of a session, for a gateway or a client. */
export interface LabelClaim {
  readonly sensitivity: Sensitivity
  readonly datasets: readonly PrivateDataset[]
}

/** The claim as it stands: the highest of all that it says, and whatever cannot be read counts as the strictest. */
export function readLabelClaim(value: unknown): LabelClaim {
  if (!isJsonObject(value)) return { sensitivity: HIGHEST_SENSITIVITY, datasets: [] }
  const listed = isJsonList(value.datasets) ? value.datasets : []
  const datasets = listed.filter(isDataset).map(({ name, sensitivity }) => ({ name, sensitivity }))
  const said = datasets.map(({ sensitivity }) => sensitivity)
  const whole = datasets.length < listed.length ? HIGHEST_SENSITIVITY : readOverallSensitivity(value, said)
  return { sensitivity: said.reduce(higherSensitivity, whole), datasets }
}

/** Datasets speak for themselves where nothing is said of the whole. */
function readOverallSensitivity({ sensitivity }: JsonObject, said: readonly Sensitivity[]): Sensitivity {
  if (sensitivity === undefined && said[0] !== undefined) return said[0]
  return isSensitivity(sensitivity) ? sensitivity : HIGHEST_SENSITIVITY
}

function isDataset(value: Json): value is Json & PrivateDataset {
  return isJsonObject(value) && typeof value.name === 'string' && isSensitivity(value.sensitivity)
}
