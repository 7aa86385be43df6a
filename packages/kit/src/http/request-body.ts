import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { SallyportError } from '@sallyport/core'

/** The message that a request holds. Throws what is wrong with it. */
export async function readRequestMessage(request: IncomingMessage, limit: number): Promise<unknown> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new SallyportError('MEDIA_REFUSED', 'The body must be application/json.')
  const bytes = await readBody(request, { limit, hint: 'Send less, or raise maxBodyBytes of serveHttp.' })
  if (!isUtf8(bytes)) throw new SallyportError('PARSE_ERROR', 'The body is not UTF-8.')
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw new SallyportError('PARSE_ERROR', 'The body is not JSON.', { cause: error })
  }
}

export interface BodyLimit {
  readonly limit: number
  /** What to do about a body that is larger. */
  readonly hint: string
}

/** The whole body, or a refusal once it is known to be too large. */
export function readBody(request: IncomingMessage, { limit, hint }: BodyLimit): Promise<Buffer> {
  const tooLarge = (): SallyportError =>
    new SallyportError('BODY_TOO_LARGE', `The body is larger than ${limit} bytes.`, { hint })
  return new Promise((resolve, reject) => {
    // A client that went away or stopped speaking HTTP is no bug of ours.
    const cutOff = (): void => {
      if (!request.complete)
        reject(new SallyportError('INVALID_REQUEST', 'The connection closed before the whole body came.'))
    }
    // Whoever left while the credentials were looked at will not say so again.
    if (request.destroyed && !request.complete) return cutOff()
    if (Number(request.headers['content-length'] ?? 0) > limit) return reject(tooLarge())
    const chunks: Buffer[] = []
    let bytes = 0
    const take = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes <= limit) return void chunks.push(chunk)
      request.off('data', take)
      chunks.length = 0
      reject(tooLarge())
    }
    request
      .on('data', take)
      .on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
      .on('error', cutOff)
      .on('close', cutOff)
  })
}
