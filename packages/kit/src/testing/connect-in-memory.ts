import { randomUUID } from 'node:crypto'
import {
  ERRORS,
  type Era,
  type ErrorCode,
  isJsonObject,
  type Json,
  type JsonObject,
  LATEST_LEGACY_VERSION,
  META,
  MODERN_VERSION,
  SallyportError,
  type ToolDefinition,
} from '@sallyport/core'
import type { Form, FormAnswerer } from '../form.ts'
import type { Identity } from '../identity/identity.ts'
import type { McpServer } from '../mcp-server.ts'
import type { Connection } from '../protocol/protocol.ts'
import type { ToolResult } from '../tool-result.ts'

/** Connects a client to the server in this process, for the user in the options. */
export async function connectInMemory(server: McpServer, options: InMemoryOptions = {}): Promise<InMemoryClient> {
  const client = new InMemoryClient(server, options)
  await client.open()
  return client
}

/** Who calls, and how. Every option has a default. */
export interface InMemoryOptions {
  /** Default: "test-user". */
  readonly userId?: string
  /** Default: a new one, so that private data of one test does not affect the next. */
  readonly sessionId?: string
  /** Other claims of a token, such as `permissions`. */
  readonly claims?: JsonObject
  /** Default: the modern one. */
  readonly era?: Era
  /** Answers the server's forms. If missing, the client declares that it cannot show forms. */
  readonly onElicit?: FormAnswerer
  /** Default: all log messages arrive. */
  readonly logLevel?: string
}

/** The options of one call. */
export interface CallToolOptions {
  readonly signal?: AbortSignal
  /** Asks for progress, which then also arrives in `notifications`. */
  readonly onProgress?: (progress: JsonObject) => void
}

/** A notification that the server sent. */
export interface Notification {
  readonly method: string
  readonly params: JsonObject
}

const NOBODY_ANSWERS = 'The server asked something that this client does not answer'

/** A client for tests, connected to a server in the same process. Protocol errors are thrown, error results returned. */
export class InMemoryClient {
  /** All notifications of the server, oldest first. */
  readonly notifications: Notification[] = []
  readonly #options: InMemoryOptions
  readonly #pipe: MessagePipe
  readonly #progress = new Map<number, (progress: JsonObject) => void>()
  #lastToken = 0

  constructor(server: McpServer, options: InMemoryOptions) {
    const { userId = 'test-user', sessionId = randomUUID(), claims = {} } = options
    this.#options = options
    this.#pipe = new MessagePipe(server, {
      identity: { userId, sessionId, claims },
      onNotification: (method, params) => this.#handleNotification(method, params),
      onQuestion: (method, params) => this.#answer(method, params),
    })
  }

  /** Opens the connection as the era requires. */
  async open(): Promise<void> {
    if (this.#era === 'modern') return
    const capabilities = this.#capabilities
    const clientInfo = { name: 'in-memory', version: '0' }
    await this.#pipe.request('initialize', { protocolVersion: LATEST_LEGACY_VERSION, capabilities, clientInfo })
    this.#pipe.notify('notifications/initialized', {})
    await this.#pipe.request('logging/setLevel', { level: this.#logLevel })
  }

  async callTool(name: string, args: JsonObject = {}, options: CallToolOptions = {}): Promise<ToolResult> {
    const token = ++this.#lastToken
    if (options.onProgress !== undefined) this.#progress.set(token, options.onProgress)
    const meta = options.onProgress === undefined ? {} : { _meta: { progressToken: token } }
    try {
      return (await this.request(
        'tools/call',
        { name, arguments: args, ...meta },
        options.signal,
      )) as unknown as ToolResult
    } finally {
      this.#progress.delete(token)
    }
  }

  async listTools(): Promise<readonly ToolDefinition[]> {
    return (await this.#list('tools/list', 'tools')) as unknown as readonly ToolDefinition[]
  }

  listResources(): Promise<readonly JsonObject[]> {
    return this.#list('resources/list', 'resources')
  }

  listResourceTemplates(): Promise<readonly JsonObject[]> {
    return this.#list('resources/templates/list', 'resourceTemplates')
  }

  listPrompts(): Promise<readonly JsonObject[]> {
    return this.#list('prompts/list', 'prompts')
  }

  readResource(uri: string): Promise<JsonObject> {
    return this.request('resources/read', { uri })
  }

  getPrompt(name: string, args: Readonly<Record<string, string>> = {}): Promise<JsonObject> {
    return this.request('prompts/get', { name, arguments: args })
  }

  /** `ref` is `{ type: 'ref/prompt', name }` or `{ type: 'ref/resource', uri }`. */
  async complete(ref: JsonObject, argument: { readonly name: string; readonly value: string }): Promise<JsonObject> {
    const { completion } = await this.request('completion/complete', { ref, argument: { ...argument } })
    return isJsonObject(completion) ? completion : {}
  }

  /** Sends any request in the format of the era. Forms are answered meanwhile. */
  async request(method: string, params: JsonObject = {}, signal?: AbortSignal): Promise<JsonObject> {
    let answers: JsonObject = {}
    for (;;) {
      const result = await this.#pipe.request(method, this.#withMeta({ ...params, ...answers }), signal)
      if (result.resultType !== 'input_required') return result
      const { requestState } = result
      const inputResponses = await this.#answerAll(result.inputRequests)
      answers = { inputResponses, ...(requestState === undefined ? {} : { requestState }) }
    }
  }

  /** Cancels the requests in flight; the server sees that its peer disconnected. */
  close(): void {
    this.#pipe.close()
  }

  get #era(): Era {
    return this.#options.era ?? 'modern'
  }

  get #logLevel(): string {
    return this.#options.logLevel ?? 'debug'
  }

  get #capabilities(): JsonObject {
    return this.#options.onElicit === undefined ? {} : { elicitation: {} }
  }

  async #list(method: string, field: string): Promise<readonly JsonObject[]> {
    const { [field]: entries } = await this.request(method)
    return Array.isArray(entries) ? entries : []
  }

  #withMeta(params: JsonObject): JsonObject {
    if (this.#era === 'legacy') return params
    const meta = isJsonObject(params._meta) ? params._meta : {}
    return {
      ...params,
      _meta: {
        [META.protocolVersion]: MODERN_VERSION,
        [META.clientCapabilities]: this.#capabilities,
        [META.logLevel]: this.#logLevel,
        ...meta,
      },
    }
  }

  #handleNotification(method: string, params: JsonObject): void {
    this.notifications.push({ method, params })
    if (method === 'notifications/progress') this.#progress.get(params.progressToken as number)?.(params)
  }

  async #answerAll(questions: Json | undefined): Promise<JsonObject> {
    const answers: Record<string, JsonObject> = {}
    for (const [key, question] of Object.entries(isJsonObject(questions) ? questions : {})) {
      const { method, params } = isJsonObject(question) ? question : {}
      answers[key] = await this.#answer(String(method), isJsonObject(params) ? params : {})
    }
    return answers
  }

  async #answer(method: string, params: JsonObject): Promise<JsonObject> {
    const { onElicit } = this.#options
    if (method === 'elicitation/create' && onElicit !== undefined)
      return { ...(await onElicit(params as unknown as Form)) }
    throw new SallyportError('CLIENT_REFUSED', `${NOBODY_ANSWERS}: ${method}.`, {
      hint: 'Give connectInMemory onElicit.',
    })
  }
}

interface MessagePipeOptions {
  readonly identity: Identity
  readonly onNotification: (method: string, params: JsonObject) => void
  /** Answers requests of the server. */
  readonly onQuestion: (method: string, params: JsonObject) => Promise<JsonObject>
}

interface PendingRequest {
  readonly resolve: (result: JsonObject) => void
  readonly reject: (error: unknown) => void
}

/** JSON-RPC with a server in this process. Every message is serialized and parsed again, as on the wire. */
class MessagePipe {
  readonly #options: MessagePipeOptions
  readonly #connection: Connection
  readonly #pending = new Map<number, PendingRequest>()
  #lastId = 0
  #isClosed = false

  constructor(server: McpServer, end: MessagePipeOptions) {
    this.#options = end
    this.#connection = server.connect((message) => this.#receive(copyAsJson(message)), { identity: end.identity })
  }

  request(method: string, params: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    if (this.#isClosed) return Promise.reject(closedError())
    const id = ++this.#lastId
    const cancel = (): void => this.#cancel(id, signal?.reason)
    const answer = new Promise<JsonObject>((resolve, reject) => this.#pending.set(id, { resolve, reject }))
    signal?.addEventListener('abort', cancel, { once: true })
    this.#send({ jsonrpc: '2.0', id, method, params })
    if (signal?.aborted) cancel()
    return answer.finally(() => signal?.removeEventListener('abort', cancel))
  }

  notify(method: string, params: JsonObject): void {
    this.#send({ jsonrpc: '2.0', method, params })
  }

  close(): void {
    this.#isClosed = true
    this.#connection.close()
    for (const { reject } of this.#pending.values()) reject(closedError())
    this.#pending.clear()
  }

  #cancel(id: number, reason: unknown): void {
    const waiting = this.#pending.get(id)
    if (!this.#pending.delete(id)) return
    this.notify('notifications/cancelled', { requestId: id })
    waiting?.reject(reason)
  }

  #send(message: object): void {
    this.#connection.receive(copyAsJson(message))
  }

  #receive(message: JsonObject): void {
    const { id, method, params } = message
    if (typeof method !== 'string') return this.#settle(message)
    const received = isJsonObject(params) ? params : {}
    if (id === undefined) return this.#options.onNotification(method, received)
    this.#options.onQuestion(method, received).then(
      (result) => this.#send({ jsonrpc: '2.0', id, result }),
      (error) => this.#send({ jsonrpc: '2.0', id, error: { code: -32603, message: String(error) } }),
    )
  }

  #settle({ id, result, error }: JsonObject): void {
    const waiting = typeof id === 'number' ? this.#pending.get(id) : undefined
    this.#pending.delete(id as number)
    if (isJsonObject(result)) waiting?.resolve(result)
    else waiting?.reject(toError(error))
  }
}

/** A value that JSON cannot represent must fail in a test as it would in production. */
const copyAsJson = (message: object): JsonObject => JSON.parse(JSON.stringify(message))

const closedError = (): SallyportError => new SallyportError('CALL_CANCELLED', 'The client in memory is closed.')

/** Converts a protocol error to a SallyportError: with the name of its numeric code, and the original as the cause. */
function toError(error: Json | undefined): SallyportError {
  const { code, message } = isJsonObject(error) ? error : {}
  const named = PROTOCOL_ERRORS.find((name) => ERRORS[name].rpc === code) ?? 'INTERNAL'
  return new SallyportError(named, String(message), { cause: error })
}

const PROTOCOL_ERRORS: readonly ErrorCode[] = [
  'INVALID_PARAMS',
  'METHOD_UNKNOWN',
  'INVALID_REQUEST',
  'VERSION_UNSUPPORTED',
  'CAPABILITY_MISSING',
]
