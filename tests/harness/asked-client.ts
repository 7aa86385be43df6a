import { CallStream, type Message } from './call-stream.ts'
import { post } from './mcp-client.ts'
import { eventually } from './processes.ts'
import type { StdioClient } from './stdio-client.ts'

/** The answer of a person, or a program, to a question: {result} or {error}. */
export type Answerer = (question: Message) => Message | Promise<Message>

/** A call from its beginning to its end, as its client saw it. */
export interface Conversation {
  /** The last message: the answer. */
  readonly answer: Message
  readonly questions: readonly Message[]
  /** Everything else that came before the answer. */
  readonly notifications: readonly Message[]
}

/** A client that servers can ask. */
export interface AskedClient {
  converse(params: Message, answerer: Answerer, method?: string): Promise<Conversation>
}

export const ALL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } }

const CLIENT_INFO = { name: 'asked', version: '1' }
let lastId = 0

const isQuestion = ({ id, method }: Message): boolean => id !== undefined && method !== undefined

/** A legacy session over HTTP. */
export class HttpSession implements AskedClient {
  readonly url: string
  readonly headers: Record<string, string>

  constructor(url: string, headers: Record<string, string>) {
    this.url = url
    this.headers = headers
  }

  static async open(url: string, capabilities: object = ALL, headers: Record<string, string> = {}) {
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: CLIENT_INFO }
    const answer = await post(url, { jsonrpc: '2.0', id: ++lastId, method: 'initialize', params }, headers)
    const session = answer.headers.get('mcp-session-id')
    if (!session) throw new Error(`no session: ${answer.status} ${JSON.stringify(answer.message)}`)
    return new HttpSession(url, { ...headers, 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' })
  }

  call(params: Message, method = 'tools/call', headers: Record<string, string> = {}): OpenCall {
    const id = ++lastId
    const body = { jsonrpc: '2.0', id, method, params }
    return new OpenCall(id, new CallStream(this.url, { body, headers: { ...this.headers, ...headers } }), this)
  }

  /** The stream for messages outside of calls, once it is open. */
  async listen(): Promise<CallStream> {
    const stream = new CallStream(this.url, { verb: 'GET', headers: this.headers })
    await eventually(
      () => stream.status,
      (status) => status === 200,
    )
    return stream
  }

  async answer(id: string | number, outcome: Message): Promise<number> {
    return (await post(this.url, { jsonrpc: '2.0', id, ...outcome }, this.headers)).status
  }

  async notify(method: string, params: Message = {}): Promise<void> {
    await post(this.url, { jsonrpc: '2.0', method, params }, this.headers)
  }

  async request(method: string, params: Message = {}): Promise<Message> {
    return (await post(this.url, { jsonrpc: '2.0', id: ++lastId, method, params }, this.headers)).message
  }

  async end(): Promise<void> {
    await fetch(this.url, { method: 'DELETE', headers: this.headers })
  }

  async converse(params: Message, answerer: Answerer, method?: string): Promise<Conversation> {
    const call = this.call(params, method)
    const answered = new Set<unknown>()
    for (;;) {
      const news = await call.stream.next((message) => message.id === call.id || isNew(message, answered))
      if (news.method === undefined) break
      answered.add(news.id)
      await this.answer(news.id, await answerer(news))
    }
    return toConversation(call.stream.received, call.id)
  }
}

/** A call of a legacy session that is in flight. */
export class OpenCall {
  readonly id: number
  readonly stream: CallStream
  readonly #session: HttpSession

  constructor(id: number, stream: CallStream, session: HttpSession) {
    this.id = id
    this.stream = stream
    this.#session = session
  }

  question(): Promise<Message> {
    return this.stream.next(isQuestion)
  }

  reply(): Promise<Message> {
    return this.stream.next(({ id, method }) => id === this.id && method === undefined)
  }

  async cancel(): Promise<void> {
    await this.#session.notify('notifications/cancelled', { requestId: this.id, reason: 'changed my mind' })
  }
}

const isNew = (message: Message, answered: ReadonlySet<unknown>): boolean =>
  isQuestion(message) && !answered.has(message.id)

function toConversation(received: readonly Message[], id: unknown): Conversation {
  return {
    answer: received.find((message) => message.id === id && message.method === undefined) ?? {},
    questions: received.filter(isQuestion),
    notifications: received.filter((message) => message.id === undefined),
  }
}

/** A legacy conversation over lines. */
export class Window implements AskedClient {
  readonly client: StdioClient

  constructor(client: StdioClient) {
    this.client = client
  }

  async converse(params: Message, answerer: Answerer, method = 'tools/call'): Promise<Conversation> {
    const { client } = this
    const from = client.received.length
    const id = client.freshId()
    const answering = new Set<unknown>()
    const answer = client.request(method, params, id)
    for (;;) {
      const received = client.received.slice(from)
      const question = received.find((message) => isNew(message, answering))
      if (question) {
        answering.add(question.id)
        client.answer(question.id, await answerer(question))
      } else if (received.some((message) => message.id === id && message.method === undefined)) break
      else await Promise.race([answer, client.next(isQuestion)])
    }
    return toConversation(client.received.slice(from), id)
  }
}

const META = 'io.modelcontextprotocol/'

export interface ModernOptions {
  readonly capabilities?: object
  readonly headers?: Record<string, string>
  readonly meta?: Message
}

function enveloped(params: Message, { capabilities = ALL, meta }: ModernOptions): Message {
  const _meta = {
    [`${META}protocolVersion`]: '2026-07-28',
    [`${META}clientInfo`]: CLIENT_INFO,
    [`${META}clientCapabilities`]: capabilities,
    ...meta,
  }
  return { ...params, _meta }
}

/** A client that answers by repeating the call. */
abstract class ModernAsked implements AskedClient {
  abstract round(params: Message, method: string): Promise<readonly Message[]>

  async converse(params: Message, answerer: Answerer, method = 'tools/call'): Promise<Conversation> {
    const questions: Message[] = []
    const notifications: Message[] = []
    let more: Message = {}
    for (;;) {
      const received = await this.round({ ...params, ...more }, method)
      const answer = received.at(-1) ?? {}
      notifications.push(...received.slice(0, -1))
      if (answer.result?.resultType !== 'input_required') return { answer, questions, notifications }
      const asked = Object.entries<Message>(answer.result.inputRequests)
      questions.push(...asked.map(([, question]) => question))
      const answers = await Promise.all(asked.map(async ([key, question]) => [key, await answerer(question)] as const))
      const inputResponses = Object.fromEntries(answers.map(([key, { result }]) => [key, result]))
      more = { requestState: answer.result.requestState, inputResponses }
    }
  }
}

export class ModernHttp extends ModernAsked {
  readonly #url: string
  readonly #options: ModernOptions

  constructor(url: string, options: ModernOptions = {}) {
    super()
    this.#url = url
    this.#options = options
  }

  /** One round, as it comes. */
  open(params: Message, method = 'tools/call', meta: Message = {}): CallStream {
    const repeated = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': params.name ?? params.uri,
    }
    const options = { ...this.#options, meta: { ...this.#options.meta, ...meta } }
    const body = { jsonrpc: '2.0', id: ++lastId, method, params: enveloped(params, options) }
    return new CallStream(this.#url, { body, headers: { ...repeated, ...this.#options.headers } })
  }

  /** The outcome of one round: a result, or the error as it is. */
  async ask(params: Message, method = 'tools/call', meta: Message = {}): Promise<Message> {
    const answer = (await this.#whole(params, method, meta)).at(-1) ?? {}
    return answer.result ?? answer
  }

  round(params: Message, method: string): Promise<readonly Message[]> {
    return this.#whole(params, method, {})
  }

  async #whole(params: Message, method: string, meta: Message): Promise<readonly Message[]> {
    const stream = this.open(params, method, meta)
    await stream.over
    return stream.received
  }
}

export class ModernWindow extends ModernAsked {
  readonly #client: StdioClient
  readonly #options: ModernOptions

  constructor(client: StdioClient, options: ModernOptions = {}) {
    super()
    this.#client = client
    this.#options = options
  }

  async round(params: Message, method: string): Promise<readonly Message[]> {
    return [await this.#client.request(method, enveloped(params, this.#options))]
  }
}
