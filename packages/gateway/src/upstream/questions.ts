import { Cancellation, isJsonObject, type JsonObject, type SallyportError } from '@sallyport/core'
import { type Client, lackedBy, type Question, type QuestionAnswer } from './client.ts'

/** Whom a server's question concerns. */
export interface Addressee {
  readonly client: Client
  ask(question: Question): Promise<QuestionAnswer>
  /** While it has not been answered, nobody can expect the call to go on. */
  onOpen(): void
  onClosed(): void
}

interface OpenQuestion {
  readonly cancellation: Cancellation
  readonly during: number | undefined
}

const METHOD_NOT_FOUND = -32601
const INTERNAL = -32603
/** A server that asks without end must not fill our memory. */
const MOST_OPEN = 1_000

/** The questions of one server that wait for their clients. */
export class Questions {
  readonly #send: (text: string) => void
  /** By the server's own ids. */
  readonly #open = new Map<string | number, OpenQuestion>()

  constructor(send: (text: string) => void) {
    this.#send = send
  }

  /** Puts the question to its client, and the answer to the server. */
  relay(message: JsonObject, addressee: Addressee | undefined, during: number | undefined): void {
    const { id, method } = message
    if (typeof id !== 'string' && typeof id !== 'number') return
    const params = isJsonObject(message.params) ? message.params : {}
    const question = { method: String(method), params, cancellation: new Cancellation() }
    const refusal = this.#refusal(id, question, addressee)
    if (refusal || !addressee) return this.#answer(id, refusal ?? nobody(question))
    this.#open.set(id, { cancellation: question.cancellation, during })
    addressee.onOpen()
    void addressee
      .ask(question)
      .catch((error: SallyportError) => ({ error: { code: INTERNAL, message: error.message } }))
      .then((answer) => this.#answered(id, question, answer))
      .finally(() => addressee.onClosed())
  }

  /** The server no longer wants to know. */
  cancel(id: unknown): void {
    const open = typeof id === 'string' || typeof id === 'number' ? this.#open.get(id) : undefined
    open?.cancellation.cancel('the server took it back')
  }

  /** The request during which they were asked is over, and they with it. */
  endOf(during: number | undefined): void {
    if (this.#open.size === 0) return
    for (const open of [...this.#open.values()])
      if (during === undefined || open.during === during) open.cancellation.cancel('the call is over')
  }

  #refusal(id: string | number, question: Question, addressee: Addressee | undefined): QuestionAnswer | undefined {
    if (this.#open.has(id)) return { error: { code: -32600, message: `The id ${JSON.stringify(id)} is in use.` } }
    if (this.#open.size >= MOST_OPEN) return { error: { code: INTERNAL, message: `${MOST_OPEN} questions are open.` } }
    const lacked = addressee && lackedBy(addressee.client, question)
    if (lacked === undefined) return undefined
    return { error: { code: METHOD_NOT_FOUND, message: `The client offers no ${lacked}.` } }
  }

  /** A question that was taken back gets no answer. */
  #answered(id: string | number, { cancellation }: Question, answer: QuestionAnswer): void {
    this.#open.delete(id)
    if (cancellation.reason === undefined) this.#answer(id, answer)
  }

  #answer(id: string | number, answer: QuestionAnswer): void {
    this.#send(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  }
}

/** Whoever has no roots says so; everything else needs somebody to answer it. */
function nobody({ method }: Question): QuestionAnswer {
  if (method === 'roots/list') return { result: { roots: [] } }
  const message = `No call is under way to which this ${method} could belong.`
  return { error: { code: METHOD_NOT_FOUND, message } }
}
