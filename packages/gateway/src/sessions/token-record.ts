import { isJsonObject, type JsonObject, type Principal } from '@sallyport/core'
import { isPrintableName } from '@sallyport/kit/identity'
import type { Credential } from './credential.ts'

/** The data of a minted token. The token itself was shown once and is not stored. */
export interface TokenRecord {
  readonly id: string
  readonly agent: string
  readonly profile: string
  readonly user: string
  readonly session: string
  readonly created: string
  /** Selectors that narrow the profile's selection. */
  readonly tools?: readonly string[]
  /** A person uses the client interactively. */
  readonly attended?: true
  readonly expires?: string
}

export interface StoredToken {
  readonly record: TokenRecord
  readonly sha256: string
}

const ID = /^[0-9a-f]{16}$/
const SHA256 = /^[0-9a-f]{64}$/
const CLAIM_FIELDS = ['agent', 'profile', 'user', 'session'] as const
const KEYS = new Set(['id', ...CLAIM_FIELDS, 'created', 'tools', 'attended', 'expires', 'sha256'])

/** Check this before an id becomes part of a path. */
export const isTokenId = (text: string): boolean => ID.test(text)

export function formatStoredToken({ record, sha256 }: StoredToken): string {
  return `${JSON.stringify({ ...record, sha256 }, null, 2)}\n`
}

/** A record with an unknown key is refused: a newer version may have narrowed the token with it. */
export function parseStoredToken(text: string, id: string): StoredToken | undefined {
  const fields = parseObject(text)
  if (fields === undefined || fields.id !== id || !Object.keys(fields).every((key) => KEYS.has(key))) return undefined
  if (!CLAIM_FIELDS.every((name) => isPrintableName(fields[name])) || !isTime(fields.created)) return undefined
  if (fields.expires !== undefined && !isTime(fields.expires)) return undefined
  if (fields.tools !== undefined && !areSelectors(fields.tools)) return undefined
  if (fields.attended !== undefined && fields.attended !== true) return undefined
  const { sha256, ...record } = fields
  if (typeof sha256 !== 'string' || !SHA256.test(sha256)) return undefined
  return { record: record as unknown as TokenRecord, sha256 }
}

export function credentialFromRecord(record: TokenRecord): Credential {
  const { id: token, user, agent, profile, session, expires, tools, attended } = record
  const principal: Principal = Object.freeze({
    ...{ user, agent, profile, session, role: 'agent', token },
    ...(tools && { tools: Object.freeze([...tools]) }),
    ...(attended && { isAttended: attended }),
  })
  return { principal, expiresAt: expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires) }
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** An empty list is valid and selects no tool. */
export const areSelectors = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length <= MAX_SELECTORS && value.every(isSelector)

const MAX_SELECTORS = 10_000
const MAX_SELECTOR_LENGTH = 1_000
const isSelector = (value: unknown): boolean =>
  typeof value === 'string' && value.trim() !== '' && value.length <= MAX_SELECTOR_LENGTH

const isTime = (value: unknown): value is string => typeof value === 'string' && !Number.isNaN(Date.parse(value))
