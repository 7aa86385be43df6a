import { Cancellation, isJsonObject, type JsonObject, type SallyportError } from '@sallyport/core'
import { type Client, findMissingCapability, type Question, type QuestionAnswer } from '../client.ts'

/** The client that a server's question is for. */
export interface Addressee {
  readonly client: Client
  ask(question: Question): Promise<QuestionAnswer>
  /** The client answered it. */
  onAnswered?(question: Question): void
  /** The requests that cannot continue before it is answered. */
  readonly waiting: readonly (Pausable | undefined)[]
}

interface Pausable {
  pause(): void
  resume(): void
}

/** A request of a server, and what it says to the gateway in `_meta`. */
export interface ServerRequest {
  readonly message: JsonObject
  readonly claims: JsonObject | undefined
}

interface OpenQuestion {
  readonly cancellation: Cancellation
  /** The open requests that it may belong to. If it had none from the start, it belongs to the connection. */
  readonly calls: Set<number>
  readonly size: number
}

const METHOD_NOT_FOUND = -32601
const INTERNAL = -32603
/** A server that asks without end must not fill our memory. */
const MAX_OPEN = 1_000
/** In characters, for all questions together; a single one may be as large as any message. */
const MAX_TEXT_LENGTH = 8_000_000

const NO_CALLS: ReadonlySet<number> = new Set()

export interface QuestionsOptions {
  /** `waiting`: the request that cannot continue without this answer, if that is known. */
  readonly send: (text: string, waiting?: number) => void
  /** The connection belongs to one client, which may be reachable only during its calls. */
  readonly isOneClient: boolean
}

/** The questions of one server that wait for their clients. */
export class Questions {
  readonly #options: QuestionsOptions
  /** By the server's own ids. */
  readonly #open = new Map<string | number, OpenQuestion>()
  #size = 0

  constructor(options: QuestionsOptions) {
    this.#options = options
  }

  /** Forwards the question to its client, and the answer to the server. */
  relay({ message, claims }: ServerRequest, addressee: Addressee | undefined, calls: readonly number[]): void {
    const { id, method } = message
    if (typeof id !== 'string' && typeof id !== 'number') return
    const params = isJsonObject(message.params) ? message.params : {}
    const question = { method: String(method), params, claims, cancellation: new Cancellation() }
    const size = JSON.stringify(message).length
    const refusal = this.#refusal(id, question, addressee) ?? this.#checkCapacity(size)
    if (refusal || !addressee) return this.#sendAnswer(id, refusal ?? this.#answerWithoutClient(question))
    this.#open.set(id, { cancellation: question.cancellation, calls: new Set(calls), size })
    this.#size += size
    for (const call of addressee.waiting) call?.pause()
    void addressee
      .ask(question)
      .catch((error: SallyportError) => ({ error: { code: INTERNAL, message: error.message } }))
      .then((answer) => {
        if ('result' in answer) addressee.onAnswered?.(question)
        this.#onAnswered(id, question, answer)
      })
      .finally(() => {
        for (const call of addressee.waiting) call?.resume()
      })
  }

  /** The server withdrew the question. Returns false if it did not ask it. */
  cancel(id: unknown): boolean {
    const open = typeof id === 'string' || typeof id === 'number' ? this.#open.get(id) : undefined
    open?.cancellation.cancel('the server took it back')
    return open !== undefined
  }

  /** This request is over. When the last request that a question may belong to is over, so is the question. */
  endCall(call: number): void {
    if (this.#open.size === 0) return
    for (const { calls, cancellation } of [...this.#open.values()])
      if (calls.delete(call) && calls.size === 0) cancellation.cancel('the call is over')
  }

  endAll(): void {
    for (const { cancellation } of [...this.#open.values()]) cancellation.cancel('the server went away')
  }

  #refusal(id: string | number, question: Question, addressee: Addressee | undefined): QuestionAnswer | undefined {
    if (this.#open.has(id)) return { error: { code: -32600, message: `The id ${JSON.stringify(id)} is in use.` } }
    const lacked = addressee && findMissingCapability(addressee.client, question)
    if (lacked === undefined) return undefined
    return { error: { code: METHOD_NOT_FOUND, message: `The client offers no ${lacked}.` } }
  }

  #checkCapacity(size: number): QuestionAnswer | undefined {
    const isFull = this.#open.size >= MAX_OPEN || this.#size + size > MAX_TEXT_LENGTH
    return isFull ? { error: { code: INTERNAL, message: `${this.#open.size} questions are open.` } } : undefined
  }

  /** A withdrawn question gets no answer. */
  #onAnswered(id: string | number, { cancellation }: Question, answer: QuestionAnswer): void {
    const { size = 0, calls = NO_CALLS } = this.#open.get(id) ?? {}
    this.#size -= size
    this.#open.delete(id)
    if (cancellation.reason === undefined) this.#sendAnswer(id, answer, calls)
  }

  #sendAnswer(id: string | number, answer: QuestionAnswer, calls = NO_CALLS): void {
    const [waiting] = calls.size === 1 ? calls : NO_CALLS
    this.#options.send(JSON.stringify({ jsonrpc: '2.0', id, ...answer }), waiting)
  }

  /**
   * A connection without a client has no roots. A client that cannot be reached now may have some: a server would store
   * an empty list for good, while after a refusal it can ask again during a call.
   */
  #answerWithoutClient({ method }: Question): QuestionAnswer {
    if (method === 'roots/list' && !this.#options.isOneClient) return { result: { roots: [] } }
    const message = `No call is in flight that this ${method} could belong to.`
    return { error: { code: METHOD_NOT_FOUND, message } }
  }
}
