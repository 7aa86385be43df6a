import type { ErrorCode, Json, JsonObject, SallyportError } from '@sallyport/core'
import type { ClientRequest, Reply } from './client-request.ts'
import { errorMessage, resultMessage } from './wire-message.ts'

/** In the modern era these are refused by the transport already; everything else is an answer like any other. */
const CODES_WITH_HTTP_STATUS: ReadonlySet<ErrorCode> = new Set([
  'METHOD_UNKNOWN',
  'INVALID_REQUEST',
  'HEADER_MISMATCH',
  'VERSION_UNSUPPORTED',
  'CAPABILITY_MISSING',
])

/** A legacy client knows a missing resource by a code of its own. */
const LEGACY_RESOURCE_UNKNOWN = -32002

interface FailureDetails {
  /** Of the error. */
  readonly data?: JsonObject
  /** Besides the error. */
  readonly meta?: JsonObject | undefined
}

/** The answer to a request that failed: for a tool call one that the model can read, else a protocol error. */
export function failureReply(
  request: Pick<ClientRequest, 'id' | 'method' | 'era'>,
  error: SallyportError,
  { data, meta }: FailureDetails = {},
): Reply {
  const details = { code: error.code, retryable: error.kind.retryable, ...data }
  if (request.method === 'tools/call' && error.kind.forModel) {
    const told = { ...meta, 'sallyport/error': details }
    return { message: resultMessage(request.id, toolError(error, told, request.era)), status: 200 }
  }
  const code = error.code === 'RESOURCE_UNKNOWN' && request.era === 'legacy' ? LEGACY_RESOURCE_UNKNOWN : error.kind.rpc
  const status = request.era === 'modern' && CODES_WITH_HTTP_STATUS.has(error.code) ? error.kind.http : 200
  return {
    message: errorMessage(request.id, { code, message: error.text, data: { ...details, ...meta } as Json }),
    status,
  }
}

function toolError(error: SallyportError, _meta: JsonObject, era: ClientRequest['era']): JsonObject {
  return {
    ...(era === 'modern' && { resultType: 'complete' }),
    content: [{ type: 'text', text: `[${error.code}] ${error.text}` }],
    isError: true,
    _meta,
  }
}
