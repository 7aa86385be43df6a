import { ERRORS, type ErrorCode, isJsonObject, type Json, type JsonObject, SallyportError } from '@sallyport/core'
import type { Identity } from '../identity/identity.ts'
import type { McpServer } from '../mcp-server.ts'
import type { Connection } from '../protocol/protocol.ts'

export interface MessagePipeOptions {
  readonly identity: Identity
  readonly onNotification: (method: string, params: JsonObject) => void
  /** Answers what the server asks. */
  readonly onQuestion: (method: string, params: JsonObject) => Promise<JsonObject>
}

interface PendingRequest {
  readonly resolve: (result: JsonObject) => void
  readonly reject: (error: unknown) => void
}

/** JSON-RPC with a server in this process. Every message is written to a text and read again, as on a wire. */
export class MessagePipe {
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
    const given = isJsonObject(params) ? params : {}
    if (id === undefined) return this.#options.onNotification(method, given)
    this.#options.onQuestion(method, given).then(
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

/** What JSON cannot carry must fail in a test as it would in life. */
const copyAsJson = (message: object): JsonObject => JSON.parse(JSON.stringify(message))

const closedError = (): SallyportError => new SallyportError('CALL_CANCELLED', 'The client in memory is closed.')

/** A protocol error as it is thrown: under the name that its number has, with all of it as the cause. */
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
