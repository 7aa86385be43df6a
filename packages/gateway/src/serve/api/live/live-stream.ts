import type { LoggedEvent } from '@sallyport/core'
import type { AdminContext } from '../../admin/admin-context.ts'
import { isCallRecord, LiveRecords, type NumberedBatch, type RecordBatch, type ShownRecord } from './live-records.ts'
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
  #sent: StateMessages = { state: '', servers: '' }
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
    reader.send(encoder.encode(this.#sent.state + this.#sent.servers))
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
      const message = formatBatch(batch)
      for (const reader of this.#readers) reader.sendBatch(batch, message)
    }
    const types = new Set(batch?.shown.map(({ type }) => type))
    if ([...types].some(mayChangeReviews)) this.#reviews = countReviews(this.#context)
    if ([...types].some((type) => !isCallRecord(type)) || this.#ticks % STATE_TICKS === 0) this.#sendState()
    if (this.#ticks % KEEP_ALIVE_TICKS === 0) for (const reader of this.#readers) reader.send(KEEP_ALIVE)
  }

  #sendState(): void {
    const before = this.#sent
    this.#sent = this.#formatState()
    for (const name of ['state', 'servers'] as const) {
      if (this.#sent[name] === before[name]) continue
      const message = encoder.encode(this.#sent[name])
      for (const reader of this.#readers) reader.send(message)
    }
  }

  #formatState(): StateMessages {
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
    else reader.send(formatReset('Too much happened, or the records are others now.'))
  }
}

interface StateMessages {
  readonly state: string
  readonly servers: string
}

/** What people have to review: to count it takes long with thousands of tools. */
const REVIEW_TYPES = ['TOOLS_', 'PIN_', 'DEFINITION_', 'FINDINGS_', 'UPSTREAM_', 'CONFIG_']

const mayChangeReviews = (type: string): boolean => REVIEW_TYPES.some((prefix) => type.startsWith(prefix))

const encoder = new TextEncoder()
const KEEP_ALIVE = encoder.encode(': still here\n\n')

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

  send(message: Uint8Array): void {
    if ((this.#controller.desiredSize ?? 0) > 0) this.#controller.enqueue(message)
    else this.#hasMissed = true
  }

  /** `message`: the batch, printed once for all readers. */
  sendBatch(batch: NumberedBatch, message: Uint8Array): void {
    if (!this.isReady) {
      this.#held.push(batch)
      return
    }
    for (const held of this.#held.splice(0)) this.#sendNew(held)
    if (batch.first > this.#last) this.#send(batch, message)
    else this.#sendNew(batch)
  }

  sendEarlier(records: readonly LoggedEvent[]): void {
    this.#last = Math.max(this.#last, records.at(-1)?.seq ?? 0)
    const shown = records.map((record) => ({ ...record, line: JSON.stringify(record) }))
    if (records.length > 0) this.send(formatBatch({ shown, omitted: {}, last: this.#last }))
  }

  /** Sends those of its records that the reader does not know. */
  #sendNew(batch: NumberedBatch): void {
    if (batch.last <= this.#last) return
    const shown = batch.shown.filter(({ seq }) => seq > this.#last)
    this.#send(batch, formatBatch({ ...batch, shown }))
  }

  #send(batch: NumberedBatch, message: Uint8Array): void {
    this.#last = batch.last
    if (this.#hasMissed && (this.#controller.desiredSize ?? 0) > 0) {
      this.#hasMissed = false
      this.send(formatReset('The page was too slow to read everything.'))
    }
    this.send(message)
  }
}

const formatReset = (reason: string): Uint8Array => encoder.encode(formatMessage('reset', { reason }))

/** The lines of the log are JSON already: `RecordBatch`, without parsing and printing them. */
function formatBatch({ shown, omitted, last }: Pick<NumberedBatch, 'shown' | 'omitted' | 'last'>): Uint8Array {
  const records = shown.map(({ line }: ShownRecord) => line).join(',')
  const data = `{"records":[${records}],"omitted":${JSON.stringify(omitted)}}`
  return encoder.encode(`id: ${last}\nevent: records\ndata: ${data}\n\n`)
}

/** Printed JSON has no line breaks, so one `data` line is always enough. */
const formatMessage = <Name extends keyof LiveMessages>(event: Name, data: LiveMessages[Name]): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
