import type { LoggedEvent } from '@sallyport/core'
import type { AdminContext } from '../../admin/admin-context.ts'
import type { EventView } from '../events.ts'
import { LiveRecords, type NumberedBatch, type RecordBatch } from './live-records.ts'
import { countReviews, type LiveServer, type LiveState, liveServers, liveState, type ReviewCounts } from './overview.ts'

/** The messages of the live stream: the name of each event, and its data as JSON. */
export interface LiveMessages {
  readonly records: RecordBatch
  readonly state: LiveState
  readonly servers: { readonly servers: readonly LiveServer[] }
  readonly reset: { readonly reason: string }
}

const TICK_MS = 100
/** The state is compared in every fifth tick, and whenever something was recorded that may have changed it. */
const STATE_TICKS = 5
const KEEP_ALIVE_TICKS = 200
/** A reader that resumes gets at most this many of the records that it missed. */
const MAX_EARLIER = 1_000
/** A reader with more unread bytes misses records, and is told so. */
const MAX_UNREAD_BYTES = 1_000_000

/** What all readers of the stream get. It works only while there are readers. */
export class LiveStream {
  readonly #context: AdminContext
  readonly #readers = new Set<Reader>()
  #records = new LiveRecords()
  #reviews: ReviewCounts = { drifted: 0, findings: 0 }
  #sent = { state: '', servers: '' }
  #ticks = 0
  #stop = (): void => {}

  constructor(context: AdminContext) {
    this.#context = context
  }

  get size(): number {
    return this.#readers.size
  }

  /** `after`: the number of the last record that the reader knows. */
  open(after: number | undefined): ReadableStream<Uint8Array> {
    let reader: Reader | undefined
    return new ReadableStream<Uint8Array>(
      {
        start: async (controller) => {
          const added = new Reader(controller, this.#context.store.log.lastSeq)
          reader = added
          this.#add(added)
          if (after !== undefined) await this.#catchUp(added, after)
          added.isReady = true
        },
        cancel: () => this.#remove(reader),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MAX_UNREAD_BYTES }),
    )
  }

  #add(reader: Reader): void {
    if (this.#readers.size === 0) this.#start()
    this.#readers.add(reader)
    this.#sent = this.#formatState()
    reader.send(this.#sent.state)
    reader.send(this.#sent.servers)
  }

  #remove(reader: Reader | undefined): void {
    if (reader === undefined || !this.#readers.delete(reader)) return
    if (this.#readers.size === 0) this.#stop()
  }

  #start(): void {
    const { log } = this.#context.store
    this.#records = new LiveRecords()
    this.#reviews = countReviews(this.#context)
    const unwatch = log.watchWrites((lines) => this.#records.add(lines))
    const timer = setInterval(() => this.#tick(), TICK_MS).unref()
    this.#stop = () => {
      unwatch()
      clearInterval(timer)
    }
  }

  #tick(): void {
    this.#ticks++
    const batch = this.#records.take()
    if (batch !== undefined) {
      const text = formatMessage('records', { records: batch.records, omitted: batch.omitted }, batch.last)
      for (const reader of this.#readers) reader.sendBatch(batch, text)
    }
    const mayHaveChanged = batch?.records.some(({ type }) => !type.startsWith('TOOL_CALL_')) === true
    if (mayHaveChanged) this.#reviews = countReviews(this.#context)
    if (mayHaveChanged || this.#ticks % STATE_TICKS === 0) this.#sendState()
    if (this.#ticks % KEEP_ALIVE_TICKS === 0) for (const reader of this.#readers) reader.send(': still here\n\n')
  }

  #sendState(): void {
    const before = this.#sent
    this.#sent = this.#formatState()
    for (const name of ['state', 'servers'] as const) {
      if (this.#sent[name] === before[name]) continue
      for (const reader of this.#readers) reader.send(this.#sent[name])
    }
  }

  #formatState(): { readonly state: string; readonly servers: string } {
    return {
      state: formatMessage('state', liveState(this.#context, this.#reviews)),
      servers: formatMessage('servers', { servers: liveServers(this.#context) }),
    }
  }

  async #catchUp(reader: Reader, after: number): Promise<void> {
    const { store } = this.#context
    const found = await store.find({ limit: MAX_EARLIER })
    const missed = found.filter(({ seq }) => seq > after)
    const isWhole = after <= store.log.lastSeq && (missed.length === 0 || missed.length < found.length)
    if (isWhole) reader.sendEarlier(missed)
    else reader.send(formatMessage('reset', { reason: 'Too much happened, or the records are others now.' }))
  }
}

const encoder = new TextEncoder()

/** One reader of the stream, with a limit for what it has not read. */
class Reader {
  /** Until then it gets the records that it missed; new ones wait. */
  isReady = false
  readonly #controller: ReadableStreamDefaultController<Uint8Array>
  readonly #held: NumberedBatch[] = []
  #last: number
  #hasMissed = false

  constructor(controller: ReadableStreamDefaultController<Uint8Array>, last: number) {
    this.#controller = controller
    this.#last = last
  }

  send(text: string): void {
    if ((this.#controller.desiredSize ?? 0) > 0) this.#controller.enqueue(encoder.encode(text))
    else this.#hasMissed = true
  }

  /** `text`: the batch as a message. */
  sendBatch(batch: NumberedBatch, text: string): void {
    if (!this.isReady) {
      this.#held.push(batch)
      return
    }
    for (const held of this.#held.splice(0)) this.#sendNew(held)
    if (batch.first > this.#last) this.#send(batch, text)
    else this.#sendNew(batch)
  }

  sendEarlier(records: readonly LoggedEvent[]): void {
    this.#last = Math.max(this.#last, records.at(-1)?.seq ?? 0)
    if (records.length > 0)
      this.send(formatMessage('records', { records: records as EventView[], omitted: {} }, this.#last))
  }

  /** Sends those of its records that the reader does not know. */
  #sendNew(batch: NumberedBatch): void {
    if (batch.last <= this.#last) return
    const records = batch.records.filter(({ seq }) => seq > this.#last)
    this.#send(batch, formatMessage('records', { records, omitted: batch.omitted }, batch.last))
  }

  #send(batch: NumberedBatch, text: string): void {
    this.#last = batch.last
    if (this.#hasMissed && (this.#controller.desiredSize ?? 0) > 0) {
      this.#hasMissed = false
      this.send(formatMessage('reset', { reason: 'The page was too slow to read everything.' }))
    }
    this.send(text)
  }
}

/** Printed JSON has no line breaks, so one `data` line is always enough. */
function formatMessage<Name extends keyof LiveMessages>(event: Name, data: LiveMessages[Name], id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
