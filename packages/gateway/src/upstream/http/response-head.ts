import { brokenHttp } from './connection-failure.ts'

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>

/** How the end of a body is determined (RFC 9112, 6.3). */
export type BodyFraming =
  | { readonly kind: 'sized'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until closed' }

export interface ResponseHead {
  /** Without the empty line at its end. */
  readonly text: string
  readonly status: number
  readonly headers: ResponseHeaders
  readonly framing: BodyFraming
  /** Whether another request may follow over the same connection. */
  readonly keepsAlive: boolean
  /** Where the body begins. */
  readonly end: number
}

const MAX_HEAD_BYTES = 65_536
const HTTP_PREFIX = 'HTTP/1.'
const HEAD_PATTERN =
  /^HTTP\/1\.[01] \d{3}(?: [\t\x20-\x7e\x80-\xff]*)?\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/
const NO_BODY: BodyFraming = { kind: 'sized', bytes: 0 }
const CHUNKED: BodyFraming = { kind: 'chunked' }
const UNTIL_CLOSED: BodyFraming = { kind: 'until closed' }

/** What is known before a head is read. */
export interface HeadHints {
  /** The end of the head is not before this offset. */
  readonly scannedTo: number
  /** The previous head on the same connection: many servers send the same one again and again. */
  readonly previous: ResponseHead | undefined
}

/** `undefined` if it has not arrived completely. Throws if it is invalid. */
export function readResponseHead(bytes: Buffer, at: number, clues: HeadHints): ResponseHead | undefined {
  const from = Math.max(at, clues.scannedTo - 3)
  const end = bytes.indexOf('\r\n\r\n', from, 'latin1')
  if ((end < 0 ? bytes.length : end) - at > MAX_HEAD_BYTES) throw brokenHttp('its head is too long')
  if (end < 0) return rejectMalformed(bytes, at, from)
  const text = bytes.toString('latin1', at, end + 2)
  const { previous } = clues
  return previous?.text === text && previous.end === end + 4 ? previous : readHead(text, end + 4)
}

function readHead(text: string, end: number): ResponseHead {
  if (!text.startsWith(HTTP_PREFIX)) throw brokenHttp('it is not an HTTP response')
  if (!HEAD_PATTERN.test(text)) throw brokenHttp('its head cannot be read')
  const status = Number(text.slice(9, 12))
  if (status < 100 || status === 101) throw brokenHttp(`it has the status ${text.slice(9, 12)}`)
  const headers = readHeaders(text)
  const framing = readFraming(status, headers)
  const keepsAlive =
    text[7] === '1' && framing.kind !== 'until closed' && !/\bclose\b/i.test(String(headers.connection))
  return { text, status, headers, framing, keepsAlive, end }
}

/** Other data than a response, or one whose head never ends, could go on forever. */
function rejectMalformed(bytes: Buffer, at: number, from: number): undefined {
  if (!HTTP_PREFIX.startsWith(bytes.toString('latin1', at, at + HTTP_PREFIX.length)))
    throw brokenHttp('it is not an HTTP response')
  if (hasWrongLineEnd(bytes, from)) throw brokenHttp('a line does not end with CRLF')
}

/** An empty line with other line ends: whoever waits for the end of such a head waits forever. */
const hasWrongLineEnd = (bytes: Buffer, at: number): boolean =>
  ['\n\n', '\n\r\n', '\r\r'].some((end) => bytes.includes(end, at, 'latin1'))

function readHeaders(head: string): ResponseHeaders {
  const headers = Object.create(null) as Record<string, string | string[]>
  for (let at = head.indexOf('\r\n') + 2; at < head.length; ) {
    const colon = head.indexOf(':', at)
    const end = head.indexOf('\r\n', colon)
    const name = head.slice(at, colon).toLowerCase()
    const value = trimBlanks(head, colon + 1, end)
    const before = headers[name]
    if (before === undefined) headers[name] = value
    // Modified in place: a head has room for thousands of headers with the same name.
    else if (typeof before === 'object') before.push(value)
    else headers[name] = [before, value]
    at = end + 2
  }
  return headers
}

/** Spaces and tabs only: `trim` also removes the no-break space of latin1. */
function trimBlanks(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09

function readFraming(status: number, headers: ResponseHeaders): BodyFraming {
  const { 'transfer-encoding': coding, 'content-length': length } = headers
  if (status < 200 || status === 204 || status === 304) return NO_BODY
  if (coding !== undefined) {
    if (length !== undefined) throw brokenHttp('it has a length and a transfer coding')
    return /(?:^|,)[\t ]*chunked$/i.test(String(coding)) ? CHUNKED : UNTIL_CLOSED
  }
  if (length === undefined) return UNTIL_CLOSED
  if (typeof length !== 'string' || !/^\d{1,15}$/.test(length)) throw brokenHttp('its length cannot be read')
  return { kind: 'sized', bytes: Number(length) }
}
