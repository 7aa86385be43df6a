import type { IncomingHttpHeaders } from 'node:http'

/** As much as node:http itself reads of a head. */
const MOST_HEAD = 16_384
const MOST_HEADERS = 100
/** Nothing but what every reader of HTTP understands alike: no folded lines, no blanks before a colon, no bytes beyond ASCII. */
const HEAD = /^POST (?:\/mcp|\/mcp\/[\w.-]{1,130}) HTTP\/1\.1\r\n(?:[!#$%&'*+.^`|~\w-]+:[\t\x20-\x7e]*\r\n)+$/
const LENGTH = /^(?:0|[1-9]\d{0,7})$/
/** What these ask for concerns the connection, or says where the body ends in another way. */
const BEYOND_US = ['transfer-encoding', 'expect', 'upgrade', 'proxy-connection', 'set-cookie'] as const

/** A POST to the MCP endpoint that came in one piece, with all its body: what nearly every call is. */
export class WholeRequest {
  readonly method = 'POST'
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer

  constructor(url: string, rawHeaders: readonly string[], headers: IncomingHttpHeaders, body: Buffer) {
    this.url = url
    this.rawHeaders = rawHeaders
    this.headers = headers
    this.body = body
  }

  /** No header stands here twice. */
  get headersDistinct(): NodeJS.Dict<string[]> {
    return Object.fromEntries(Object.entries(this.headers).map(([name, value]) => [name, [String(value)]]))
  }
}

/** The request, where these bytes are exactly one that can be read in one way only. All else is for node:http to judge. */
export function readWholeRequest(bytes: Buffer): WholeRequest | undefined {
  const end = bytes.indexOf('\r\n\r\n', 0, 'latin1')
  if (end < 0 || end > MOST_HEAD) return undefined
  const head = bytes.toString('latin1', 0, end + 2)
  if (!HEAD.test(head)) return undefined
  const first = head.indexOf('\r\n')
  const url = head.slice('POST '.length, first - ' HTTP/1.1'.length)
  const rawHeaders: string[] = []
  const headers = readHeaders(head, first + 2, rawHeaders)
  const body = bytes.subarray(end + 4)
  if (headers === undefined || !isWhole(headers, body.length)) return undefined
  return new WholeRequest(url, rawHeaders, headers, body)
}

function readHeaders(head: string, from: number, raw: string[]): IncomingHttpHeaders | undefined {
  const headers = Object.create(null) as IncomingHttpHeaders
  for (let at = from; at < head.length; ) {
    const colon = head.indexOf(':', at)
    const end = head.indexOf('\r\n', colon)
    const name = head.slice(at, colon)
    const key = name.toLowerCase()
    const value = head.slice(colon + 1, end).trim()
    if (headers[key] !== undefined || raw.length >= 2 * MOST_HEADERS) return undefined
    headers[key] = value
    raw.push(name, value)
    at = end + 2
  }
  return headers
}

function isWhole(headers: IncomingHttpHeaders, bodyBytes: number): boolean {
  const { 'content-length': length, connection } = headers
  if (length === undefined || !LENGTH.test(length) || Number(length) !== bodyBytes) return false
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return false
  return BEYOND_US.every((name) => headers[name] === undefined)
}
