import type { ErrorCode, Json, JsonObject, SallyportError } from '@sallyport/core'
import type { ClientRequest, Reply } from './client-request.ts'
import { errorMessage, resultMessage } from './wire-message.ts'

/** In the modern era these errors have an HTTP status; all others are answers with status 200. */
const CODES_WITH_HTTP_STATUS: ReadonlySet<ErrorCode> = new Set([
  'METHOD_UNKNOWN',
  'INVALID_REQUEST',
  'HEADER_MISMATCH',
  'VERSION_UNSUPPORTED',
  'CAPABILITY_MISSING',
])

/** The legacy era has its own code for a missing resource. */
const LEGACY_RESOURCE_UNKNOWN = -32002

interface FailureDetails {
  /** More members for the data of the error. */
  readonly data?: JsonObject
  /** Metadata beside the error. */
  readonly meta?: JsonObject | undefined
}

/** The answer to a failed request: for a tool call a result that the model can read, otherwise a protocol error. */
export function failureReply(
  request: Pick<ClientRequest, 'id' | 'method' | 'era'>,
  error: SallyportError,
  { data, meta }: FailureDetails = {},
): Reply {
  const details = { code: error.code, retryable: error.kind.retryable, ...data }
  if (request.method === 'tools/call' && error.kind.forModel) {
    const resultMeta = { ...meta, 'sallyport/error': details }
    return { message: resultMessage(request.id, toolError(error, resultMeta, request.era)), status: 200 }
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
