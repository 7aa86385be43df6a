import { isJsonObject, type Json, type JsonObject, SallyportError, withoutOwnName } from '@sallyport/core'

/** What a legacy client and we agreed on when the session began. */
export interface SessionOpening {
  readonly protocolVersion: string
  /** As the client declared them. */
  readonly capabilities: JsonObject
  readonly clientInfo: JsonObject
}

/** Kept as long as the session is: nobody shall fill our memory with it. */
const MOST_CAPABILITIES = 8_192
const MOST_CLIENT_INFO = 2_048
const MOST_TEXT = 256

/** `protocolVersion` is the one that was agreed on, not the one that was asked for. */
export function readOpening(params: JsonObject, protocolVersion: string): SessionOpening {
  const capabilities = isJsonObject(params.capabilities) ? params.capabilities : {}
  if (JSON.stringify(capabilities).length > MOST_CAPABILITIES)
    throw new SallyportError(
      'INVALID_PARAMS',
      `The member "capabilities" has more than ${MOST_CAPABILITIES} characters, which is the limit.`,
    )
  return { protocolVersion, capabilities, clientInfo: brief(withoutOwnName(params.clientInfo)) }
}

/** Icons can be whole pictures: of an introduction that is too long the short texts remain. */
function brief(clientInfo: Json | undefined): JsonObject {
  if (!isJsonObject(clientInfo)) return {}
  if (JSON.stringify(clientInfo).length <= MOST_CLIENT_INFO) return clientInfo
  const texts = ['name', 'title', 'version'].map((key) => [key, clientInfo[key]] as const)
  return Object.fromEntries(
    texts.filter((entry): entry is readonly [string, string] => typeof entry[1] === 'string').map(shortened),
  )
}

const shortened = ([key, text]: readonly [string, string]): readonly [string, string] => [key, text.slice(0, MOST_TEXT)]
