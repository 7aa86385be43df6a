import { isUtf8 } from 'node:buffer'
import { type Json, JsonScanner, SallyportError } from '@sallyport/core'
import type { MiddlewareHandler } from 'hono'

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
    const flaw = flawOf(bytes)
    if (flaw !== undefined) throw new SallyportError('PARSE_ERROR', flaw)
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

function flawOf(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes)) return 'The body is not UTF-8.'
  const scanner = new JsonScanner()
  scanner.feed(bytes)
  const envelope = scanner.end()
  if (!envelope) return `The body is not acceptable JSON: ${scanner.failure ?? 'unknown'}.`
  if (envelope.members !== countMembers(JSON.parse(bytes.toString('utf8'))))
    return 'A key stands twice in the same object of the body.'
  if (envelope.hasUnsafeNumber) return 'A number in the body is too large to be kept exact: send it as a text.'
  return undefined
}

function countMembers(value: Json | undefined): number {
  if (typeof value !== 'object' || value === null) return 0
  const own = Array.isArray(value) ? 0 : Object.keys(value).length
  return Object.values(value).reduce<number>((sum, item) => sum + countMembers(item), own)
}

function tooLarge(): SallyportError {
  return new SallyportError('BODY_TOO_LARGE', `The body is larger than ${LIMIT} bytes.`, {
    hint: 'Large data belongs in a file that the tool reads.',
  })
}
