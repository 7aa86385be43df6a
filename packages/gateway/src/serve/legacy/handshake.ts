import { isJsonObject, type Json, type JsonObject, SallyportError, sanitizeClientInfo } from '@sallyport/core'

/** What a legacy client and we agreed on when the session began. */
export interface Handshake {
  readonly protocolVersion: string
  /** As the client declared them. */
  readonly capabilities: JsonObject
  readonly clientInfo: JsonObject
}

/** Kept as long as the session is: nobody shall fill our memory with it. */
const MAX_CAPABILITIES_LENGTH = 8_192
const MAX_CLIENT_INFO_LENGTH = 2_048
const MAX_FIELD_LENGTH = 256

/** `protocolVersion` is the one that was agreed on, not the one that was asked for. */
export function readHandshake(params: JsonObject, protocolVersion: string): Handshake {
  const capabilities = isJsonObject(params.capabilities) ? params.capabilities : {}
  if (JSON.stringify(capabilities).length > MAX_CAPABILITIES_LENGTH)
    throw new SallyportError(
      'INVALID_PARAMS',
      `The member "capabilities" has more than ${MAX_CAPABILITIES_LENGTH} characters, which is the limit.`,
    )
  return { protocolVersion, capabilities, clientInfo: shortenClientInfo(sanitizeClientInfo(params.clientInfo)) }
}

/** Icons can be whole pictures: of an introduction that is too long the short texts remain. */
function shortenClientInfo(clientInfo: Json | undefined): JsonObject {
  if (!isJsonObject(clientInfo)) return {}
  if (JSON.stringify(clientInfo).length <= MAX_CLIENT_INFO_LENGTH) return clientInfo
  const texts = ['name', 'title', 'version'].map((key) => [key, clientInfo[key]] as const)
  return Object.fromEntries(
    texts.filter((entry): entry is readonly [string, string] => typeof entry[1] === 'string').map(shortenField),
  )
}

const shortenField = ([key, text]: readonly [string, string]): readonly [string, string] => [
  key,
  text.slice(0, MAX_FIELD_LENGTH),
]
