import { isJsonDeeperThan, type Json } from '@sallyport/core'
import { ConnectorError } from '../connector-error.ts'
import { isJsonType } from './operation.ts'

/** What an API answered. */
export interface ApiResponse {
  readonly status: number
  readonly mimeType: string
  /** A JSON value, a text, or of other content its size. */
  readonly body: Json
  /** The answer was longer than is allowed. */
  readonly isCut: boolean
}

const MAX_ERROR_LENGTH = 500
/** What is nested deeper stays a text: a result could not carry it as a value. */
const MAX_DEPTH = 400
const TEXT_TYPE = /^text\/|[/+](?:xml|yaml|javascript|x-www-form-urlencoded|x-ndjson)\s*(?:;|$)/i

/** Reads no more than is allowed, whatever the length that was announced. */
export async function readResponse(
  response: Response,
  { maxBytes, hide }: { readonly maxBytes: number; readonly hide: (text: string) => string },
): Promise<ApiResponse> {
  const mimeType = hide(response.headers.get('content-type') ?? '')
  const { bytes, isCut } = await readBytes(response, maxBytes)
  const isText = mimeType === '' || isJsonType(mimeType) || TEXT_TYPE.test(mimeType)
  const text = isText ? hide(new TextDecoder().decode(bytes)) : `${bytes.length} bytes of ${mimeType}`
  const whole = { status: response.status, mimeType, body: isCut ? text : parseIfJson(text, mimeType), isCut }
  if (!response.ok) throw responseError(response.status, text, hide(response.headers.get('retry-after') ?? ''))
  return whole
}

async function readBytes(
  response: Response,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const parts: Uint8Array[] = []
  let length = 0
  // Leaving the loop cancels the stream, and with it the connection.
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    parts.push(part)
    length += part.length
    if (length > maxBytes) break
  }
  return { bytes: Buffer.concat(parts).subarray(0, maxBytes), isCut: length > maxBytes }
}

function parseIfJson(text: string, mimeType: string): Json {
  if (!isJsonType(mimeType) || isJsonDeeperThan(text, MAX_DEPTH)) return text
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** The caller can mend what was asked; the rest is the API's, or its operator's. */
function responseError(status: number, text: string, later: string): ConnectorError {
  const isPassing = status === 429 || (status === 503 && later !== '')
  const wait =
    isPassing && later !== '' ? ` Try again after ${later.slice(0, 40)}${/^\d+$/.test(later) ? ' s' : ''}.` : ''
  const words = text.trim().slice(0, MAX_ERROR_LENGTH)
  const isOfCaller = status >= 400 && status < 500 && status !== 401 && status !== 407
  return new ConnectorError(`The API answered ${status}${words === '' ? '' : `: ${words}`}.${wait}`, {
    retryable: isPassing || isOfCaller,
  })
}
