import { ERRORS, type ErrorCode, isJsonObject, type Json, type JsonObject, SallyportError } from '@sallyport/core'
import type { Identity } from '../identity/identity.ts'
import type { McpServer } from '../mcp-server.ts'
import type { Connection } from '../protocol/protocol.ts'

export interface PipeEnd {
  readonly identity: Identity
  readonly onNotification: (method: string, params: JsonObject) => void
  /** Answers what the server asks. */
  readonly onQuestion: (method: string, params: JsonObject) => Promise<JsonObject>
}

interface Waiting {
  readonly resolve: (result: JsonObject) => void
  readonly reject: (error: unknown) => void
}

/** JSON-RPC with a server in this process. Every message is written to a text and read again, as on a wire. */
export class MessagePipe {
  readonly #end: PipeEnd
  readonly #connection: Connection
  readonly #waiting = new Map<number, Waiting>()
  #last = 0
  #isClosed = false

  constructor(server: McpServer, end: PipeEnd) {
    this.#end = end
    this.#connection = server.connect((message) => this.#take(overWire(message)), { identity: end.identity })
  }

  request(method: string, params: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    if (this.#isClosed) return Promise.reject(closed())
    const id = ++this.#last
    const cancel = (): void => this.#cancel(id, signal?.reason)
    const answer = new Promise<JsonObject>((resolve, reject) => this.#waiting.set(id, { resolve, reject }))
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
    for (const { reject } of this.#waiting.values()) reject(closed())
    this.#waiting.clear()
  }

  #cancel(id: number, reason: unknown): void {
    const waiting = this.#waiting.get(id)
    if (!this.#waiting.delete(id)) return
    this.notify('notifications/cancelled', { requestId: id })
    waiting?.reject(reason)
  }

  #send(message: object): void {
    this.#connection.receive(overWire(message))
  }

  #take(message: JsonObject): void {
    const { id, method, params } = message
    if (typeof method !== 'string') return this.#answered(message)
    const given = isJsonObject(params) ? params : {}
    if (id === undefined) return this.#end.onNotification(method, given)
    this.#end.onQuestion(method, given).then(
      (result) => this.#send({ jsonrpc: '2.0', id, result }),
      (error) => this.#send({ jsonrpc: '2.0', id, error: { code: -32603, message: String(error) } }),
    )
  }

  #answered({ id, result, error }: JsonObject): void {
    const waiting = typeof id === 'number' ? this.#waiting.get(id) : undefined
    this.#waiting.delete(id as number)
    if (isJsonObject(result)) waiting?.resolve(result)
    else waiting?.reject(thrown(error))
  }
}

/** What JSON cannot carry must fail in a test as it would in life. */
const overWire = (message: object): JsonObject => JSON.parse(JSON.stringify(message))

const closed = (): SallyportError => new SallyportError('CALL_CANCELLED', 'The client in memory is closed.')

/** A protocol error as it is thrown: under the name that its number has, with all of it as the cause. */
function thrown(error: Json | undefined): SallyportError {
  const { code, message } = isJsonObject(error) ? error : {}
  const named = NAMES.find((name) => ERRORS[name].rpc === code) ?? 'INTERNAL'
  return new SallyportError(named, String(message), { cause: error })
}

const NAMES: readonly ErrorCode[] = [
  'INVALID_PARAMS',
  'METHOD_UNKNOWN',
  'INVALID_REQUEST',
  'VERSION_UNSUPPORTED',
  'CAPABILITY_MISSING',
]
