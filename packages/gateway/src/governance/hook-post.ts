import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'

export interface HookPost {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly signal: AbortSignal
}

export interface HookReply {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

const PATIENCE = 5_000
const MOST_BYTES = 65_536
/** A thousand calls may begin to wait at once. */
const MOST_SOCKETS = 16

/** Posts to a web hook. Redirects are not followed: what is sent shows what tools are called with. */
export class HookPoster {
  readonly #agents = {
    http: new HttpAgent({ maxSockets: MOST_SOCKETS }),
    https: new HttpsAgent({ maxSockets: MOST_SOCKETS }),
  }

  post({ url, headers, body, signal }: HookPost): Promise<HookReply> {
    const isPlain = url.startsWith('http:')
    return new Promise((resolve, reject) => {
      const request = (isPlain ? httpRequest : httpsRequest)(url, {
        method: 'POST',
        agent: isPlain ? this.#agents.http : this.#agents.https,
        headers: { ...headers, 'content-type': 'application/json', 'content-length': body.length },
        signal,
      })
      let timer: NodeJS.Timeout | undefined
      // Not before it has a connection: until then it waits for others of ours.
      request.once('socket', () => {
        timer = setTimeout(() => request.destroy(new Error(`no answer within ${PATIENCE / 1_000} s`)), PATIENCE)
      })
      request.once('error', reject).once('close', () => clearTimeout(timer))
      request.once('response', (response) => readReply(response).then(resolve, reject))
      request.end(body)
    })
  }

  close(): void {
    this.#agents.http.destroy()
    this.#agents.https.destroy()
  }
}

async function readReply(response: IncomingMessage): Promise<HookReply> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MOST_BYTES) throw new Error(`its answer has more than ${MOST_BYTES} bytes`)
    chunks.push(chunk)
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }
}
