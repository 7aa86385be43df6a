import { SallyportError } from '@sallyport/core'
import type { MiddlewareHandler } from 'hono'
import { readStrictJson } from '../rpc/strict-json.ts'

/** Size limit for the body of an API request. */
export const API_BODY_LIMIT = { limit: 1_000_000, hint: 'Large data belongs in a file that the tool reads.' } as const
const JSON_TYPE = /^application\/json\s*(;|$)/i

/** Refuses JSON that two parsers could read differently. */
export const strictBody: MiddlewareHandler = async (c, next) => {
  const { raw } = c.req
  if (raw.method === 'GET' || raw.method === 'HEAD') return next()
  const bytes = Buffer.from(await raw.arrayBuffer())
  if (bytes.length > 0) {
    if (!JSON_TYPE.test(raw.headers.get('content-type') ?? ''))
      throw new SallyportError('MEDIA_REFUSED', 'The body must be application/json.')
    const read = readStrictJson(bytes)
    if ('problem' in read) throw new SallyportError('PARSE_ERROR', `The body is not acceptable JSON: ${read.problem}.`)
  }
  const { url, method, headers, signal } = raw
  c.req.raw = new Request(url, { method, headers, signal, ...(bytes.length > 0 && { body: bytes }) })
  return next()
}
