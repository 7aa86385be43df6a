import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import {
  formatParam,
  isJsonObject,
  type JsonObject,
  type McpParam,
  META,
  MODERN_VERSION,
  matchesParam,
} from '@sallyport/core'
import { readRequestMeta } from '../era.ts'
import { errorAnswer, HEADER_MISMATCH, INVALID_PARAMS, type Incoming, type RpcError } from '../json-rpc.ts'
import { decodeHeaderValue } from './header-text.ts'

type Message = Incoming<'request'> | Incoming<'notification'>

/** Which member of the parameters the header Mcp-Name repeats. */
const MCP_NAME_PARAMS: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

const readVersion = ({ _meta: meta }: JsonObject): unknown =>
  isJsonObject(meta) ? meta[META.protocolVersion] : undefined

/** A message of the modern era carries its version with it. */
export function isModern({ params }: Message, headers: IncomingHttpHeaders): boolean {
  return readVersion(params) !== undefined || headers['mcp-protocol-version'] === MODERN_VERSION
}

/** What is wrong with the envelope of a modern message, or with the headers that repeat it for intermediaries. */
export function findHeaderProblem(message: Message, headers: IncomingHttpHeaders): RpcError | undefined {
  const { method, params } = message
  const told = headers['mcp-protocol-version']
  const version = readVersion(params)
  // Of two versions that contradict each other neither can be called the unsupported one.
  if (told !== undefined && typeof version === 'string' && told !== version)
    return headerMismatch('mcp-protocol-version')
  if (version === undefined) return errorAnswer(INVALID_PARAMS, `_meta["${META.protocolVersion}"] is missing.`).error
  const meta = message.kind === 'request' ? readRequestMeta(params) : undefined
  if (meta !== undefined && 'error' in meta) return meta.error
  const member = MCP_NAME_PARAMS.get(method)
  return (
    compareHeader(headers, 'mcp-protocol-version', version) ??
    compareHeader(headers, 'mcp-method', method) ??
    (member === undefined ? undefined : compareHeader(headers, 'mcp-name', params[member]))
  )
}

/** Arguments that a schema wants repeated in headers must be repeated as they are. Neither value is told: it may be a secret. */
export function findParamHeaderProblem(
  { params }: Message,
  repeated: readonly McpParam[],
  { headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>,
): RpcError | undefined {
  const args = isJsonObject(params.arguments) ? params.arguments : {}
  for (const param of repeated) {
    const given = headersDistinct[param.header] ?? []
    if (given.length === 0 && formatParam(param, args) === undefined) continue
    const text = given.length === 1 ? decodeHeaderValue(given[0] ?? '') : undefined
    if (text === undefined || !matchesParam(param, args, text)) return headerMismatch(param.header)
  }
  return undefined
}

function compareHeader(headers: IncomingHttpHeaders, header: string, value: unknown): RpcError | undefined {
  const given = headers[header]
  return given !== undefined && decodeHeaderValue(String(given)) === value ? undefined : headerMismatch(header)
}

const headerMismatch = (header: string): RpcError =>
  errorAnswer(HEADER_MISMATCH, `The header ${header} is missing or does not say what the body says.`).error
