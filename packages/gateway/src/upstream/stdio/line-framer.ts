import { type Envelope, SallyportError } from '@sallyport/core'
import { FrameReader } from '../answers/frame-reader.ts'
import type { TransportEvents } from '../transport.ts'

export interface LineFramerOptions {
  readonly maxMessageBytes: number
  readonly events: Pick<TransportEvents, 'onFrame' | 'onFailure' | 'onWarning'>
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])
const RETURN = Buffer.from([CARRIAGE_RETURN])
/** This many invalid lines are reported one by one; after that, only at every doubling. */
const MAX_REPORTED_SINGLY = 5

/**
 * Splits the output of a server into lines, one message each. Work and memory are linear in the input, however it is
 * split into chunks.
 */
export class LineFramer {
  readonly #reader: FrameReader
  readonly #limit: number
  readonly #events: LineFramerOptions['events']
  /** How many bytes of a byte order mark this line has begun with; `undefined` once it continues differently. */
  #bomBytes: number | undefined = 0
  /** A carriage return at the end of a chunk: it belongs to the line end if a line feed follows. */
  #returnHeld = false
  #bomReported = false
  #invalidLines = 0

  constructor(options: LineFramerOptions) {
    this.#limit = options.maxMessageBytes
    this.#reader = new FrameReader(options.maxMessageBytes)
    this.#events = options.events
  }

  /** Returns how many lines ended in it. */
  push(chunk: Buffer): number {
    let lines = 0
    let from = 0
    while (from < chunk.length) {
      const end = chunk.indexOf(LINE_FEED, from)
      this.#feed(chunk.subarray(from, end < 0 ? chunk.length : end))
      if (end < 0) return lines
      this.#finish()
      lines++
      from = end + 1
    }
    return lines
  }

  /** The input has ended. A last line without a line feed is still a message. */
  end(): void {
    this.#finish()
  }

  #feed(part: Buffer): void {
    if (part.length === 0) return
    this.#releaseReturn()
    const rest = this.#bomBytes === undefined ? part : this.#skipBom(part, this.#bomBytes)
    if (rest.length === 0) return
    this.#returnHeld = rest[rest.length - 1] === CARRIAGE_RETURN
    this.#reader.feed(this.#returnHeld ? rest.subarray(0, -1) : rest)
  }

  #releaseReturn(): void {
    if (!this.#returnHeld) return
    this.#returnHeld = false
    this.#reader.feed(RETURN)
  }

  /** The mark itself may be split between chunks, hence byte by byte. */
  #skipBom(part: Buffer, matched: number): Buffer {
    let at = 0
    while (at < part.length && matched + at < 3 && part[at] === BYTE_ORDER_MARK[matched + at]) at++
    this.#bomBytes = matched + at
    if (this.#bomBytes === 3) this.#warnAboutBom()
    else if (at < part.length) this.#releaseBom()
    return at === 0 ? part : part.subarray(at)
  }

  /** It was not a byte order mark, so its bytes belong to the message. */
  #releaseBom(): void {
    if (this.#bomBytes !== undefined && this.#bomBytes > 0)
      this.#reader.feed(BYTE_ORDER_MARK.subarray(0, this.#bomBytes))
    this.#bomBytes = undefined
  }

  #warnAboutBom(): void {
    this.#bomBytes = undefined
    if (this.#bomReported) return
    this.#bomReported = true
    this.#events.onWarning('It begins a line with a byte order mark, which MCP does not allow; the mark is ignored.')
  }

  #finish(): void {
    this.#releaseBom()
    this.#bomBytes = 0
    this.#returnHeld = false
    const outcome = this.#reader.finish()
    if (outcome.kind === 'frame') this.#events.onFrame(outcome.frame, undefined)
    else if (outcome.kind === 'oversized') this.#refuse(outcome.bytes, outcome.envelope)
    else if (outcome.kind === 'garbage') this.#warnAboutGarbage(outcome.reason, outcome.sample)
  }

  #refuse(bytes: number, envelope: Envelope | undefined): void {
    // A request of the server has an id of the server's choosing: it must not fail a call of ours.
    const id = envelope?.hasMethod ? undefined : envelope?.numericId
    const what = `A message of ${bytes} bytes came; at most ${this.#limit} are accepted.`
    // The scanner treats `null` as a number, but it is not a valid id.
    if (id === undefined || Number.isNaN(id)) {
      this.#events.onWarning(`${what} It names no call and was dropped.`)
      return
    }
    const hint = 'Ask for less at a time, or raise `max_message` of this server.'
    this.#events.onFailure(id, new SallyportError('UPSTREAM_TOO_LARGE', what, { hint }))
  }

  /** A server that logs to stdout does so on every line: report it in ever larger steps. */
  #warnAboutGarbage(reason: string, sample: string): void {
    this.#invalidLines++
    const isPowerOfTwo = (this.#invalidLines & (this.#invalidLines - 1)) === 0
    if (this.#invalidLines > MAX_REPORTED_SINGLY && !isPowerOfTwo) return
    const times = this.#invalidLines > MAX_REPORTED_SINGLY ? ` (${this.#invalidLines} such lines so far)` : ''
    this.#events.onWarning(`A line on its stdout is not a message: ${reason}${times}: ${sample}`)
  }
}
