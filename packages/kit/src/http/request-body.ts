import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { isJsonDeeperThan, SallyportError } from '@sallyport/core'
import { MAX_UNPARSED_DEPTH, parseMessage } from '../json-rpc.ts'
import type { BodyBudget } from './body-budget.ts'

/** Reads the message in the body of a request. Throws if it is not valid. */
export async function readRequestMessage(request: IncomingMessage, bounds: Omit<BodyLimit, 'hint'>): Promise<unknown> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    throw new SallyportError('MEDIA_REFUSED', 'The body must be application/json.')
  const bytes = await readBody(request, { ...bounds, hint: 'Send less, or raise maxBodyBytes of serveHttp.' })
  if (!isUtf8(bytes)) throw new SallyportError('PARSE_ERROR', 'The body is not UTF-8.')
  const text = bytes.toString('utf8')
  if (isJsonDeeperThan(text, MAX_UNPARSED_DEPTH))
    throw new SallyportError('INVALID_REQUEST', `The body is nested deeper than ${MAX_UNPARSED_DEPTH} levels.`)
  const parsed = tryParse(text)
  if ('error' in parsed) throw new SallyportError('INVALID_REQUEST', parsed.error.message)
  return parsed.message
}

function tryParse(text: string): ReturnType<typeof parseMessage> {
  try {
    return parseMessage(text)
  } catch (error) {
    throw new SallyportError('PARSE_ERROR', 'The body is not JSON.', { cause: error })
  }
}

/** The limits of a request body. */
export interface BodyLimit {
  readonly limit: number
  /** The hint of the error for a larger body. */
  readonly hint: string
  /** The budget that it shares with other bodies, and who sends it. */
  readonly budget?: BodyBudget | undefined
  readonly owner?: string | undefined
}

/** Reads the whole body. Throws if that is not possible. */
export function readBody(request: IncomingMessage, limit: BodyLimit): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    receiveBody(request, limit, (body) => (body instanceof SallyportError ? reject(body) : resolve(body)))
  })
}

/** Calls back once, with the whole body or an error. It uses no promise, because that costs time in every call. */
export function receiveBody(
  request: IncomingMessage,
  bounds: BodyLimit,
  done: (body: Buffer | SallyportError) => void,
): void {
  const { limit, budget, owner = '' } = bounds
  // If the client left while its credentials were checked, no further event will report it.
  if (request.destroyed && !request.complete) return done(cutOffError())
  if (Number(request.headers['content-length'] ?? 0) > limit) return done(bodyTooLarge(bounds))
  let chunks: Buffer[] | undefined = []
  let bytes = 0
  const end = (body: Buffer | SallyportError): void => {
    if (chunks === undefined) return
    chunks = undefined
    claim?.release()
    done(body)
  }
  const claim = budget?.open(owner, end)
  request
    .on('data', (chunk: Buffer) => {
      bytes += chunk.length
      const refused = bytes > limit ? bodyTooLarge(bounds) : chunks && claim?.reserve(chunk.length)
      if (refused !== undefined) end(refused)
      else chunks?.push(chunk)
    })
    .on('end', () => end(joinChunks(chunks ?? [])))
    // Node emits errors only if there is a listener, but always emits `close`.
    .on('close', () => chunks && end(cutOffError()))
}

/** The error for a body that is larger than its limit. */
export const bodyTooLarge = ({ limit, hint }: BodyLimit): SallyportError =>
  new SallyportError('BODY_TOO_LARGE', `The body is larger than ${limit} bytes.`, { hint })

const joinChunks = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)

/** A client that disconnects or stops speaking HTTP is not a bug of the server. */
const cutOffError = (): SallyportError =>
  new SallyportError('INVALID_REQUEST', 'The connection was closed before the whole body arrived.')
