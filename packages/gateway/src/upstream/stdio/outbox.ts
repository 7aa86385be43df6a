import type { Writable } from 'node:stream'
import type { SallyportError } from '@sallyport/core'
import { GATEWAY_PERMIT, recheckPermit, usePermit } from '../permit.ts'
import type { EncodedRequest } from '../transport.ts'

/** A request, or with no id a message of the gateway itself. */
interface QueuedMessage {
  readonly id: number | undefined
  readonly text: string
  readonly call: Pick<EncodedRequest['call'], 'permit'>
}

const GATEWAY_CALL = { permit: GATEWAY_PERMIT }

/** So much is given to the pipe at once: what a full pipe does not take waits here, where it can still be stopped. */
const MAX_BATCH = 65_536

/** What is on its way to the stdin of a server. Messages of one moment leave in one write. */
export class Outbox {
  readonly #stdin: Writable
  readonly #onRefused: (id: number, error: SallyportError) => void
  #queue: QueuedMessage[] = []
  /** So many of the queue were taken already. */
  #taken = 0
  /** Requests whose permits are being rechecked. */
  readonly #rechecking = new Set<QueuedMessage>()
  #length = 0
  #isFlushing = false
  /** The pipe could not take all at once: until nothing waits any more, each write is one message. */
  #wasFull = false

  constructor(stdin: Writable, onRefused: (id: number, error: SallyportError) => void) {
    this.#stdin = stdin
    this.#onRefused = onRefused
  }

  /** The length of all that waits, here and for the pipe. */
  get length(): number {
    return this.#stdin.writableLength + this.#length
  }

  request(request: EncodedRequest): void {
    this.#length += request.text.length
    this.#enqueue(request)
  }

  send(text: string): void {
    this.#length += text.length
    this.#enqueue({ id: undefined, text, call: GATEWAY_CALL })
  }

  /** True where the request was not written yet: then it is not written at all. */
  abandon(id: number): boolean {
    const isMeant = (message: QueuedMessage): boolean => message.id === id
    const at = this.#queue.findIndex((message, index) => index >= this.#taken && isMeant(message))
    const found = at < 0 ? [...this.#rechecking].find(isMeant) : this.#queue[at]
    if (found === undefined) return false
    if (at < 0) this.#rechecking.delete(found)
    else this.#queue.splice(at, 1)
    this.#length -= found.text.length
    return true
  }

  /** No further request leaves; what is only told still does. */
  close(): void {
    this.#queue = this.#queue.filter(({ id }, index) => index >= this.#taken && id === undefined)
    this.#taken = 0
    this.#rechecking.clear()
  }

  #enqueue(message: QueuedMessage): void {
    this.#queue.push(message)
    if (this.#isFlushing) return
    this.#isFlushing = true
    process.nextTick(() => this.#flush())
  }

  /** Until nothing is left, or the pipe is full. */
  #flush(): void {
    const stdin = this.#stdin
    while (this.#queue.length > 0 && stdin.writableLength === 0 && stdin.writable) {
      const batch = this.#takeBatch()
      if (batch !== '') stdin.write(batch)
      this.#wasFull = stdin.writableLength > 0 || (this.#wasFull && this.#queue.length > 0)
    }
    this.#isFlushing = stdin.writableLength > 0
    // Its turn comes once the pipe has taken all that came before; a broken one takes nothing more.
    if (this.#isFlushing) stdin.write('', (error) => error ?? this.#flush())
  }

  /** Only what still has its permit in this very moment. */
  #takeBatch(): string {
    const maxLength = this.#wasFull ? 1 : MAX_BATCH
    let batch = ''
    while (this.#taken < this.#queue.length && batch.length < maxLength) {
      const message = this.#queue[this.#taken++] as QueuedMessage
      if (usePermit(message.call.permit)) {
        this.#length -= message.text.length
        batch += `${message.text}\n`
      } else this.#recheck(message)
    }
    this.#dropTaken()
    return batch
  }

  /** Not one by one: a long queue would be copied each time. */
  #dropTaken(): void {
    if (this.#taken * 2 < this.#queue.length) return
    this.#queue = this.#queue.slice(this.#taken)
    this.#taken = 0
  }

  /** It goes to the end of the queue, where its permit is checked once more. */
  #recheck(message: QueuedMessage): void {
    this.#rechecking.add(message)
    void recheckPermit(message.call.permit).then((refusal) => {
      if (!this.#rechecking.delete(message)) return
      if (!refusal) return this.#enqueue(message)
      this.#length -= message.text.length
      if (message.id !== undefined) this.#onRefused(message.id, refusal)
    })
  }
}
