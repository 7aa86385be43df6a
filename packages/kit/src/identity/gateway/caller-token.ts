import {
  isJsonList,
  isJsonObject,
  isSensitivity,
  type Json,
  type JsonObject,
  PERMISSIONS,
  type Permission,
  type Sensitivity,
} from '@sallyport/core'
import { type JwtRefusal, refuseClaim } from '../jwt-refusal.ts'
import { isPrintableName } from '../printable-name.ts'

/** The key for a caller token in the `_meta` of requests, and for the capability of a server that takes such tokens. */
export const CALLER_META = 'sallyport/caller'
/** The request with which the gateway has what a session has stored removed. It needs a token that was made for it. */
export const PURGE_METHOD = 'sallyport/purge_session'
/** The `typ` of caller tokens: no other token of the same key counts as one, and none of these as another. */
export const CALLER_TOKEN_TYPE = 'sallyport-caller+jwt'
/** The `iss` of caller tokens. */
export const CALLER_TOKEN_ISSUER = 'sallyport'
/** A token that is valid for longer was not made for one call. */
export const MAX_CALLER_TOKEN_SECONDS = 60

/** A caller of the gateway, and what the gateway knows about the call. */
export interface ForwardedCaller {
  readonly userId: string
  readonly sessionId: string
  /** The kind of client program, such as `claude-code`. */
  readonly agent: string
  readonly profile: string
  readonly permissions: readonly Permission[]
  /** The sensitivity of the session in the gateway. */
  readonly label: Sensitivity
  /** The gateway counts the session as private. */
  readonly isPrivate: boolean
  /** The gateway shapes, stores and pages results. */
  readonly shapes: boolean
  /** The tool with CONNECT that a person approved for one call, although the session is private. */
  readonly approvedTool?: string
  /** The token is for one request that removes what the session has stored, and for nothing else. */
  readonly isPurge?: true
  readonly tokenId: string
}

/** Reads the claims of a verified caller token. A claim of another type is refused: a default could grant too much. */
export function readCallerClaims(claims: JsonObject): ForwardedCaller | JwtRefusal {
  const { sub, session, agent, profile, label, private: isPrivate, shapes, jti } = claims
  const permissions = readPermissionsClaim(claims.permissions)
  const approvedTool = readApprovedTool(claims.connect)
  if (!isPrintableName(sub)) return refuseClaim('sub')
  if (!isPrintableName(session)) return refuseClaim('session')
  if (!isPrintableName(agent)) return refuseClaim('agent')
  if (!isPrintableName(profile)) return refuseClaim('profile')
  if (permissions === undefined) return refuseClaim('permissions')
  if (!isSensitivity(label)) return refuseClaim('label')
  if (typeof isPrivate !== 'boolean') return refuseClaim('private')
  if (typeof shapes !== 'boolean') return refuseClaim('shapes')
  if (!isPrintableName(jti)) return refuseClaim('jti')
  if (approvedTool === undefined) return refuseClaim('connect')
  if (claims.purge !== undefined && claims.purge !== true) return refuseClaim('purge')
  return Object.freeze({
    ...{ userId: sub, sessionId: session, agent, profile, permissions, label, isPrivate, shapes, tokenId: jti },
    ...(approvedTool === NO_TOOL ? {} : { approvedTool }),
    ...(claims.purge === true && { isPurge: true as const }),
  })
}

function readPermissionsClaim(claim: Json | undefined): readonly Permission[] | undefined {
  if (!isJsonList(claim) || !claim.every(isPermission)) return undefined
  return Object.freeze([...claim])
}

const isPermission = (value: Json): value is Permission => PERMISSIONS.some((permission) => permission === value)

const NO_TOOL = ''

function readApprovedTool(claim: Json | undefined): string | undefined {
  if (claim === undefined) return NO_TOOL
  return isJsonObject(claim) && typeof claim.tool === 'string' && claim.tool !== '' ? claim.tool : undefined
}
