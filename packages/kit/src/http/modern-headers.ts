import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import {
  isJsonObject,
  type JsonObject,
  type McpParam,
  META,
  MODERN_VERSION,
  paramAgrees,
  paramText,
} from '@sallyport/core'
import { readMeta } from '../era.ts'
import { HEADER_MISMATCH, INVALID_PARAMS, type Incoming, type RpcError, refuse } from '../json-rpc.ts'
import { readHeaderText } from './header-text.ts'

type Message = Incoming<'request'> | Incoming<'notification'>

/** Which member of the parameters the header Mcp-Name repeats. */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

const versionIn = ({ _meta: meta }: JsonObject): unknown =>
  isJsonObject(meta) ? meta[META.protocolVersion] : undefined

/** A message of the modern era carries its version with it. */
export function isModern({ params }: Message, headers: IncomingHttpHeaders): boolean {
  return versionIn(params) !== undefined || headers['mcp-protocol-version'] === MODERN_VERSION
}

/** What is wrong with the envelope of a modern message, or with the headers that repeat it for intermediaries. */
export function findFlaw(message: Message, headers: IncomingHttpHeaders): RpcError | undefined {
  const { method, params } = message
  const told = headers['mcp-protocol-version']
  const version = versionIn(params)
  // Of two versions that contradict each other neither can be called the unsupported one.
  if (told !== undefined && typeof version === 'string' && told !== version) return mismatch('mcp-protocol-version')
  if (version === undefined) return refuse(INVALID_PARAMS, `_meta["${META.protocolVersion}"] is missing.`).error
  const meta = message.kind === 'request' ? readMeta(params) : undefined
  if (meta !== undefined && 'error' in meta) return meta.error
  const member = NAMED_BY.get(method)
  return (
    compare(headers, 'mcp-protocol-version', version) ??
    compare(headers, 'mcp-method', method) ??
    (member === undefined ? undefined : compare(headers, 'mcp-name', params[member]))
  )
}

/** Arguments that a schema wants repeated in headers must be repeated as they are. Neither value is told: it may be a secret. */
export function findParamFlaw(
  { params }: Message,
  repeated: readonly McpParam[],
  { headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>,
): RpcError | undefined {
  const args = isJsonObject(params.arguments) ? params.arguments : {}
  for (const param of repeated) {
    const given = headersDistinct[param.header] ?? []
    if (given.length === 0 && paramText(param, args) === undefined) continue
    const text = given.length === 1 ? readHeaderText(given[0] ?? '') : undefined
    if (text === undefined || !paramAgrees(param, args, text)) return mismatch(param.header)
  }
  return undefined
}

function compare(headers: IncomingHttpHeaders, header: string, value: unknown): RpcError | undefined {
  const given = headers[header]
  return given !== undefined && readHeaderText(String(given)) === value ? undefined : mismatch(header)
}

const mismatch = (header: string): RpcError =>
  refuse(HEADER_MISMATCH, `The header ${header} is missing or does not say what the body says.`).error
