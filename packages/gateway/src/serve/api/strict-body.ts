import { SallyportError } from '@sallyport/core'
import type { MiddlewareHandler } from 'hono'
import { readStrictJson } from '../strict-json.ts'

const LIMIT = 1_000_000
const JSON_TYPE = /^application\/json\s*(;|$)/i

/** Reads a body whole, within the limit, and refuses JSON that two readers could take for different things. */
export const strictBody: MiddlewareHandler = async (c, next) => {
  const { raw } = c.req
  if (raw.method === 'GET' || raw.method === 'HEAD') return next()
  const bytes = await readBytes(raw)
  if (bytes.length > 0) {
    if (!JSON_TYPE.test(raw.headers.get('content-type') ?? ''))
      throw new SallyportError('MEDIA_REFUSED', 'The body must be application/json.')
    const read = readStrictJson(bytes)
    if ('flaw' in read) throw new SallyportError('PARSE_ERROR', `The body is not acceptable JSON: ${read.flaw}.`)
  }
  const { url, method, headers, signal } = raw
  c.req.raw = new Request(url, { method, headers, signal, ...(bytes.length > 0 && { body: bytes }) })
  return next()
}

async function readBytes({ body, headers }: Request): Promise<Buffer<ArrayBuffer>> {
  if (Number(headers.get('content-length') ?? 0) > LIMIT) throw tooLarge()
  const chunks: Uint8Array[] = []
  let total = 0
  for await (const chunk of body ?? []) {
    total += chunk.length
    if (total > LIMIT) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(): SallyportError {
  return new SallyportError('BODY_TOO_LARGE', `The body is larger than ${LIMIT} bytes.`, {
    hint: 'Large data belongs in a file that the tool reads.',
  })
}
