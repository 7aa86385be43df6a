import { type IncomingHttpHeaders, maxHeaderSize } from 'node:http'

/** As much as node:http itself reads of a head. */
const MAX_HEAD_BYTES = maxHeaderSize
const MAX_HEADERS = 100
/** Nothing but what every reader of HTTP understands alike: no folded lines, no blanks before a colon, no bytes beyond ASCII. */
const HEAD = /^POST (?:\/mcp|\/mcp\/[\w.-]{1,130}) HTTP\/1\.1\r\n(?:[!#$%&'*+.^`|~0-9A-Za-z-]+:[\t\x20-\x7e]*\r\n)+$/
const CONTENT_LENGTH = /^(?:0|[1-9]\d{0,7})$/
/** What these ask for concerns the connection, or says where the body ends in another way. */
const UNSUPPORTED_HEADERS = ['transfer-encoding', 'expect', 'upgrade', 'proxy-connection', 'set-cookie'] as const

/** What stands before a body, and how long that is. */
export interface RequestHead {
  /** With the empty line at its end. */
  readonly bytes: Buffer
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly headers: IncomingHttpHeaders
  readonly bodyBytes: number
}

/** A POST to the MCP endpoint that came in one piece, with all its body: what nearly every call is. */
export class FastRequest {
  readonly method = 'POST'
  readonly head: RequestHead
  readonly body: Buffer

  constructor(head: RequestHead, body: Buffer) {
    this.head = head
    this.body = body
  }

  get url(): string {
    return this.head.url
  }

  get rawHeaders(): readonly string[] {
    return this.head.rawHeaders
  }

  get headers(): IncomingHttpHeaders {
    return this.head.headers
  }
}

/**
 * The request, where these bytes are exactly one that can be read in one way only. All else is for node:http to judge.
 * Clients say much the same before every body: a head that is byte for byte the one before it is not read again.
 */
export function parseFastRequest(bytes: Buffer, before?: RequestHead): FastRequest | undefined {
  const head = before && beginsWith(bytes, before.bytes) ? before : readHead(bytes)
  if (head === undefined || bytes.length !== head.bytes.length + head.bodyBytes) return undefined
  return new FastRequest(head, bytes.subarray(head.bytes.length))
}

const beginsWith = (bytes: Buffer, beginning: Buffer): boolean =>
  bytes.length >= beginning.length && bytes.compare(beginning, 0, beginning.length, 0, beginning.length) === 0

function readHead(bytes: Buffer): RequestHead | undefined {
  const end = bytes.indexOf('\r\n\r\n', 0, 'latin1')
  if (end < 0 || end > MAX_HEAD_BYTES) return undefined
  const text = bytes.toString('latin1', 0, end + 2)
  if (!HEAD.test(text)) return undefined
  const first = text.indexOf('\r\n')
  const url = text.slice('POST '.length, first - ' HTTP/1.1'.length)
  const rawHeaders: string[] = []
  const headers = readHeaders(text, first + 2, rawHeaders)
  const bodyBytes = headers && readContentLength(headers)
  if (headers === undefined || bodyBytes === undefined) return undefined
  // A copy: the body need not be kept for as long as the head is.
  return { bytes: Buffer.from(bytes.subarray(0, end + 4)), url, rawHeaders, headers, bodyBytes }
}

function readHeaders(head: string, from: number, raw: string[]): IncomingHttpHeaders | undefined {
  const headers = Object.create(null) as IncomingHttpHeaders
  for (let at = from; at < head.length; ) {
    const colon = head.indexOf(':', at)
    const end = head.indexOf('\r\n', colon)
    const name = head.slice(at, colon)
    const key = name.toLowerCase()
    const value = head.slice(colon + 1, end).trim()
    if (headers[key] !== undefined || raw.length >= 2 * MAX_HEADERS) return undefined
    headers[key] = value
    raw.push(name, value)
    at = end + 2
  }
  return headers
}

/** Nothing where the headers ask for more than a body of a known length. */
function readContentLength(headers: IncomingHttpHeaders): number | undefined {
  const { 'content-length': length, connection } = headers
  if (length === undefined || !CONTENT_LENGTH.test(length)) return undefined
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined
  return UNSUPPORTED_HEADERS.some((name) => headers[name] !== undefined) ? undefined : Number(length)
}
