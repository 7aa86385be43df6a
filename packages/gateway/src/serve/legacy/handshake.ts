import { isJsonObject, type Json, type JsonObject, SallyportError, sanitizeClientInfo } from '@sallyport/core'

/** What the legacy client and the gateway agreed on when the session began. */
export interface Handshake {
  readonly protocolVersion: string
  /** As declared by the client. */
  readonly capabilities: JsonObject
  readonly clientInfo: JsonObject
}

/** The handshake is stored for the whole session, so its size is limited. */
const MAX_CAPABILITIES_LENGTH = 8_192
const MAX_CLIENT_INFO_LENGTH = 2_048
const MAX_FIELD_LENGTH = 256

/** `protocolVersion` is the agreed version, not the requested one. */
export function readHandshake(params: JsonObject, protocolVersion: string): Handshake {
  const capabilities = isJsonObject(params.capabilities) ? params.capabilities : {}
  if (JSON.stringify(capabilities).length > MAX_CAPABILITIES_LENGTH)
    throw new SallyportError(
      'INVALID_PARAMS',
      `"capabilities" has more than ${MAX_CAPABILITIES_LENGTH} characters, which is the limit.`,
    )
  return { protocolVersion, capabilities, clientInfo: shortenClientInfo(sanitizeClientInfo(params.clientInfo)) }
}

/** Icons can be whole images. If the client info is too long, only its short strings are stored. */
function shortenClientInfo(clientInfo: Json | undefined): JsonObject {
  if (!isJsonObject(clientInfo)) return {}
  if (JSON.stringify(clientInfo).length <= MAX_CLIENT_INFO_LENGTH) return clientInfo
  const fields = ['name', 'title', 'version'].map((key) => [key, clientInfo[key]] as const)
  return Object.fromEntries(
    fields.filter((entry): entry is readonly [string, string] => typeof entry[1] === 'string').map(shortenField),
  )
}

const shortenField = ([key, text]: readonly [string, string]): readonly [string, string] => [
  key,
  text.slice(0, MAX_FIELD_LENGTH),
]
