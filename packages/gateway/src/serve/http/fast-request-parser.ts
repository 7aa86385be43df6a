import { type IncomingHttpHeaders, maxHeaderSize } from 'node:http'

/** The limit of node:http. */
const MAX_HEAD_BYTES = maxHeaderSize
const MAX_HEADERS = 100
/** Only what every HTTP parser reads in the same way: no folded lines, no spaces before a colon, only ASCII. */
const HEAD = /^POST (?:\/mcp|\/mcp\/[\w.-]{1,130}) HTTP\/1\.1\r\n(?:[!#$%&'*+.^`|~0-9A-Za-z-]+:[\t\x20-\x7e]*\r\n)+$/
const CONTENT_LENGTH = /^(?:0|[1-9]\d{0,7})$/
/** These headers control the connection, or define the end of the body in another way. */
const UNSUPPORTED_HEADERS = ['transfer-encoding', 'expect', 'upgrade', 'proxy-connection', 'set-cookie'] as const

/** The request line and the headers, and the length of the body. */
export interface RequestHead {
  /** Includes the empty line at the end. */
  readonly bytes: Buffer
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly headers: IncomingHttpHeaders
  readonly bodyBytes: number
}

/** A POST to the MCP endpoint that arrived in one piece, with its whole body. Nearly every call does. */
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
 * Parses bytes that are exactly one request and can be read in only one way. Everything else is left to node:http.
 * Clients send nearly the same head with every request: one that is identical to the previous one is not parsed again.
 */
export function parseFastRequest(bytes: Buffer, previous?: RequestHead): FastRequest | undefined {
  const head = previous && beginsWith(bytes, previous.bytes) ? previous : readHead(bytes)
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
  // Copied, so that the cached head does not keep the body in memory.
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

/** `undefined` if the headers ask for anything but a body of known length. */
function readContentLength(headers: IncomingHttpHeaders): number | undefined {
  const { 'content-length': length, connection } = headers
  if (length === undefined || !CONTENT_LENGTH.test(length)) return undefined
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined
  return UNSUPPORTED_HEADERS.some((name) => headers[name] !== undefined) ? undefined : Number(length)
}
