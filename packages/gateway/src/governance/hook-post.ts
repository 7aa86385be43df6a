import { type Agent, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'

export interface HookRequest {
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

const TIMEOUT_MS = 5_000
const MAX_REPLY_BYTES = 65_536
/** A thousand calls may begin to wait at once. */
const MAX_SOCKETS = 16

/** Posts to a web hook. Redirects are not followed: what is sent shows what tools are called with. */
export class HookPoster {
  readonly #plain: Connector = { request: httpRequest, agent: new HttpAgent({ maxSockets: MAX_SOCKETS }) }
  #encrypted: Promise<Connector> | undefined

  async post({ url, headers, body, signal }: HookRequest): Promise<HookReply> {
    const { request: ask, agent } = url.startsWith('http:') ? this.#plain : await this.#overTls()
    return new Promise((resolve, reject) => {
      const request = ask(url, {
        method: 'POST',
        agent,
        headers: { ...headers, 'content-type': 'application/json', 'content-length': body.length },
        signal,
      })
      let timer: NodeJS.Timeout | undefined
      // Not before it has a connection: until then it waits for others of ours.
      request.once('socket', () => {
        timer = setTimeout(() => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1_000} s`)), TIMEOUT_MS)
      })
      request.once('error', reject).once('close', () => clearTimeout(timer))
      request.once('response', (response) => readReply(response).then(resolve, reject))
      request.end(body)
    })
  }

  #overTls(): Promise<Connector> {
    this.#encrypted ??= openTlsConnector()
    return this.#encrypted
  }

  close(): void {
    this.#plain.agent.destroy()
    void this.#encrypted?.then(({ agent }) => agent.destroy())
  }
}

interface Connector {
  readonly request: typeof httpRequest
  readonly agent: Agent
}

/** Loaded when it is needed: few have a web hook, and TLS would cost everybody's start. */
async function openTlsConnector(): Promise<Connector> {
  const { Agent: HttpsAgent, request } = await import('node:https')
  return { request: request, agent: new HttpsAgent({ maxSockets: MAX_SOCKETS }) }
}

async function readReply(response: IncomingMessage): Promise<HookReply> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_REPLY_BYTES) throw new Error(`its answer has more than ${MAX_REPLY_BYTES} bytes`)
    chunks.push(chunk)
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }
}
