import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { SallyportError } from '@sallyport/core'

/** The message that a request holds. Throws what is wrong with it. */
export async function readRequestMessage(request: IncomingMessage, limit: number): Promise<unknown> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new SallyportError('MEDIA_REFUSED', 'The body must be application/json.')
  const bytes = await readBody(request, limit)
  if (!isUtf8(bytes)) throw new SallyportError('PARSE_ERROR', 'The body is not UTF-8.')
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw new SallyportError('PARSE_ERROR', 'The body is not JSON.', { cause: error })
  }
}

function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const cutOff = (): void => {
      if (!request.complete) reject(new SallyportError('INVALID_REQUEST', 'The connection closed within the body.'))
    }
    // Whoever left while the credentials were looked at will not say so again.
    if (request.destroyed && !request.complete) return cutOff()
    if (Number(request.headers['content-length'] ?? 0) > limit) return reject(tooLarge(limit))
    const chunks: Buffer[] = []
    let bytes = 0
    const take = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes <= limit) return void chunks.push(chunk)
      request.off('data', take)
      chunks.length = 0
      reject(tooLarge(limit))
    }
    request
      .on('data', take)
      .on('end', () => resolve(Buffer.concat(chunks)))
      .on('error', cutOff)
      .on('close', cutOff)
  })
}

const tooLarge = (limit: number): SallyportError =>
  new SallyportError('BODY_TOO_LARGE', `The body is larger than ${limit} bytes.`, {
    hint: 'Send less, or raise maxBodyBytes of serveHttp.',
  })
