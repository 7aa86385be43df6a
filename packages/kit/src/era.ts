import {
  type Era,
  isJsonObject,
  type JsonObject,
  LATEST_LEGACY_VERSION,
  LEGACY_VERSIONS,
  META,
  MODERN_VERSION,
} from '@sallyport/core'
import {
  type Answer,
  errorAnswer,
  INVALID_PARAMS,
  isRequestId,
  type RequestId,
  type RpcError,
  UNSUPPORTED_PROTOCOL_VERSION,
} from './json-rpc.ts'

export const MODERN_VERSIONS: readonly string[] = [MODERN_VERSION]

/** The members of `_meta` that describe a request. */
export interface RequestMeta {
  readonly era: Era
  readonly progressToken: RequestId | undefined
  /** Each modern request chooses its log level. Without one, no log messages are sent. */
  readonly logLevel: string | undefined
  /** What the client can be asked. Legacy clients declare it once, in their handshake. */
  readonly capabilities: JsonObject
}

/** The version for a legacy handshake: the requested one if we know it, otherwise our newest. */
export function negotiateLegacyVersion(requested: unknown): string {
  return LEGACY_VERSIONS.find((version) => version === requested) ?? LATEST_LEGACY_VERSION
}

export function readRequestMeta(params: JsonObject): RequestMeta | { readonly error: RpcError } {
  const meta = isJsonObject(params._meta) ? params._meta : {}
  const progressToken = isRequestId(meta.progressToken) ? meta.progressToken : undefined
  const version = meta[META.protocolVersion]
  if (version === undefined) return { era: 'legacy', progressToken, logLevel: undefined, capabilities: {} }
  if (typeof version !== 'string')
    return errorAnswer(INVALID_PARAMS, `_meta["${META.protocolVersion}"] must be a string.`)
  if (!MODERN_VERSIONS.includes(version)) return unsupportedVersion(version)
  const capabilities = meta[META.clientCapabilities]
  if (!isJsonObject(capabilities))
    return errorAnswer(
      INVALID_PARAMS,
      `_meta["${META.clientCapabilities}"] is missing; expected an object, which may be empty.`,
    )
  const level = meta[META.logLevel]
  return { era: 'modern', progressToken, logLevel: typeof level === 'string' ? level : undefined, capabilities }
}

function unsupportedVersion(requested: string): { readonly error: RpcError } {
  return errorAnswer(UNSUPPORTED_PROTOCOL_VERSION, 'This protocol version is not supported.', {
    supported: MODERN_VERSIONS,
    requested: requested.slice(0, 64),
  })
}

/** Before the handshake only these two kinds of first request tell the eras apart. */
export const HANDSHAKE_REQUIRED = errorAnswer(
  INVALID_PARAMS,
  `Expected "initialize" first (${LEGACY_VERSIONS.join(', ')}), or _meta["${META.protocolVersion}"] and ` +
    `_meta["${META.clientCapabilities}"] on every request (${MODERN_VERSIONS.join(', ')}).`,
)

/** Who may share a cached answer. It is stale at once, because `list_changed` reports changes. */
export type CacheScope = 'public' | 'private'

export interface EraFields {
  readonly era: Era
  readonly serverInfo: JsonObject
  readonly cacheScope: CacheScope | undefined
}

/** The result in the format of the caller's era. */
export function addEraFields(answer: Answer, { era, serverInfo, cacheScope }: EraFields): Answer {
  if (era === 'legacy' || 'error' in answer) return answer
  const result = answer.result as JsonObject
  const meta = isJsonObject(result._meta) ? result._meta : {}
  return {
    result: {
      ...result,
      resultType: answer.resultType ?? 'complete',
      ...(cacheScope === undefined ? {} : { ttlMs: 0, cacheScope }),
      _meta: { ...meta, [META.serverInfo]: serverInfo },
    },
  }
}
