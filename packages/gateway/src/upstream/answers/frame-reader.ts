import { isUtf8 } from 'node:buffer'
import { type Envelope, JsonScanner, redactTruncatedText, toVisibleText } from '@sallyport/core'
import type { Frame } from '../transport.ts'
import { MAX_FAST_BYTES, parseFastResult } from './fast-result-parser.ts'
import { Utf8Check } from './utf8-check.ts'

/** The outcome of reading one message. */
export type FrameOutcome =
  | { readonly kind: 'frame'; readonly frame: Frame }
  | { readonly kind: 'empty' }
  /** Not one JSON value in UTF-8. `sample` is its beginning, safe to show. */
  | { readonly kind: 'garbage'; readonly reason: string; readonly sample: string }
  /** Over the limit. Only the envelope is retained, so that its call can be identified. */
  | { readonly kind: 'oversized'; readonly bytes: number; readonly envelope: Envelope | undefined }

const SAMPLE_BYTES = 200
/** A smaller piece is copied together with its neighbours: a separate Buffer would use more memory than its bytes. */
const SMALL_BYTES = 1_024
const BLOCK_BYTES = 16_384

/** Only limits the scanner's memory. Whoever uses the message rejects one that is too deep. */
const MAX_DEPTH = 100_000

/** Collects the pieces of one message as they arrive and validates it. It holds at most the limit. */
export class FrameReader {
  readonly #limit: number
  /** Everything so far, not scanned yet: nearly every answer arrives in one piece and has the usual form. */
  #singlePart: Buffer | undefined
  /** It is made of two pieces. */
  #isJoined = false
  #parts: Buffer[] = []
  #bytes = 0
  #scanner: JsonScanner | undefined
  #utf8: Utf8Check | undefined
  #block: Buffer | undefined
  #blockUsed = 0
  /** Where in the block the last part begins; `undefined` if the last part is a piece as it arrived. */
  #runStart: number | undefined

  constructor(limit: number) {
    this.#limit = limit
  }

  get bytes(): number {
    return this.#bytes
  }

  feed(part: Buffer): void {
    if (part.length === 0) return
    if (this.#bytes === 0) {
      this.#singlePart = part
      this.#bytes = part.length
      if (part.length > this.#limit) this.#takeSinglePart()
      return
    }
    this.#bytes += part.length
    if (this.#joinSmall(part)) return
    this.#takeSinglePart()
    this.#take(part)
  }

  /** The end of a chunk splits one of many short answers: joining it costs less than a scan. Only once for each message. */
  #joinSmall(part: Buffer): boolean {
    const only = this.#singlePart
    if (only === undefined || this.#isJoined || this.#bytes > Math.min(MAX_FAST_BYTES, this.#limit)) return false
    this.#singlePart = Buffer.concat([only, part])
    this.#isJoined = true
    return true
  }

  /** Ends this message and prepares for the next one. */
  finish(): FrameOutcome {
    if (this.#bytes === 0) return { kind: 'empty' }
    const plain = this.#singlePart && parseFastResult(this.#singlePart)
    const outcome = plain && this.#singlePart ? toFrameOutcome([this.#singlePart], plain) : this.#toOutcome()
    this.#singlePart = undefined
    this.#isJoined = false
    this.#parts = []
    this.#bytes = 0
    this.#scanner = undefined
    this.#utf8 = undefined
    this.#block = undefined
    this.#runStart = undefined
    return outcome
  }

  #takeSinglePart(): void {
    const only = this.#singlePart
    this.#singlePart = undefined
    if (only !== undefined) this.#take(only)
  }

  #take(part: Buffer): void {
    this.#scanner ??= new JsonScanner(MAX_DEPTH)
    this.#scanner.feed(part)
    if (this.#bytes > this.#limit || this.#scanner.failure !== undefined) {
      this.#retainSample(part)
      return
    }
    if (this.#parts.length > 0) this.#checkUtf8(part)
    if (this.#parts.length === 0 || part.length >= SMALL_BYTES) this.#appendPart(part)
    else this.#appendCopy(part)
  }

  #toOutcome(): FrameOutcome {
    this.#takeSinglePart()
    const envelope = this.#scanner?.end()
    if (this.#bytes > this.#limit) return { kind: 'oversized', bytes: this.#bytes, envelope }
    if (envelope === undefined) return this.#toGarbage(this.#scanner?.failure ?? 'not JSON')
    const utf8 = this.#utf8 === undefined ? isUtf8(this.#parts[0] as Buffer) : this.#utf8.end()
    return utf8 ? toFrameOutcome(this.#parts, envelope) : this.#toGarbage('not UTF-8')
  }

  #toGarbage(reason: string): FrameOutcome {
    const sample = this.#sample().toString('utf8')
    if (this.#bytes <= SAMPLE_BYTES && sample.trim() === '') return { kind: 'empty' }
    const shown = this.#bytes > SAMPLE_BYTES ? redactTruncatedText(sample) : sample
    return { kind: 'garbage', reason, sample: toVisibleText(shown) }
  }

  #sample(): Buffer {
    const parts = this.#parts.slice(0, SAMPLE_BYTES)
    return Buffer.concat(parts, Math.min(this.#bytes, SAMPLE_BYTES))
  }

  /** Of a lost message only the beginning is worth its memory. */
  #retainSample(part: Buffer): void {
    const had = this.#parts[0]
    if (this.#parts.length === 1 && had !== undefined && had.length === SAMPLE_BYTES) return
    this.#parts.push(part)
    this.#parts = [this.#sample()]
  }

  #appendPart(part: Buffer): void {
    this.#parts.push(part)
    this.#runStart = undefined
  }

  #appendCopy(part: Buffer): void {
    if (this.#block === undefined || this.#blockUsed + part.length > BLOCK_BYTES) {
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      this.#blockUsed = 0
      this.#runStart = undefined
    }
    if (this.#runStart !== undefined) this.#parts.pop()
    this.#runStart ??= this.#blockUsed
    this.#block.set(part, this.#blockUsed)
    this.#blockUsed += part.length
    this.#parts.push(this.#block.subarray(this.#runStart, this.#blockUsed))
  }

  /** A single piece is checked as a whole at the end; only several can split a character. */
  #checkUtf8(part: Buffer): void {
    if (this.#utf8 === undefined) {
      this.#utf8 = new Utf8Check()
      this.#utf8.feed(this.#parts[0] as Buffer)
    }
    this.#utf8.feed(part)
  }
}

const toFrameOutcome = (parts: readonly Buffer[], envelope: Envelope): FrameOutcome => ({
  kind: 'frame',
  frame: { parts, envelope },
})
