import { isUtf8 } from 'node:buffer'
import { type Envelope, JsonScanner, redactTruncatedText, toVisibleText } from '@sallyport/core'
import type { Frame } from '../transport.ts'
import { parseFastResult } from './fast-result-parser.ts'
import { Utf8Check } from './utf8-check.ts'

/** What one message turned out to be. */
export type FrameOutcome =
  | { readonly kind: 'frame'; readonly frame: Frame }
  | { readonly kind: 'empty' }
  /** Not one JSON value in UTF-8. `sample` is its beginning, fit to be shown. */
  | { readonly kind: 'garbage'; readonly reason: string; readonly sample: string }
  /** Over the limit; nothing of it was kept but the envelope, so that its call can be told. */
  | { readonly kind: 'oversized'; readonly bytes: number; readonly envelope: Envelope | undefined }

const SAMPLE_BYTES = 200
/** A piece below this is copied together with its neighbours: a Buffer of its own would weigh more than its bytes. */
const SMALL_BYTES = 1_024
const BLOCK_BYTES = 16_384

/** Only so that a message cannot make the scanner's memory grow: what is too deep is told by whoever uses it. */
const MAX_DEPTH = 100_000

/** Takes the pieces of one message as they come and proves it, holding on to no more than the limit. */
export class FrameReader {
  readonly #limit: number
  /** All there is so far, not looked into yet: nearly every answer comes in one piece and is a plain one. */
  #singlePart: Buffer | undefined
  #parts: Buffer[] = []
  #bytes = 0
  #scanner: JsonScanner | undefined
  #utf8: Utf8Check | undefined
  #block: Buffer | undefined
  #blockUsed = 0
  /** Where in the block the last part begins; none when the last part is a piece as it came. */
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
    this.#takeSinglePart()
    this.#bytes += part.length
    this.#take(part)
  }

  /** Ends this message and makes the reader ready for the next. */
  finish(): FrameOutcome {
    if (this.#bytes === 0) return { kind: 'empty' }
    const plain = this.#singlePart && parseFastResult(this.#singlePart)
    const outcome = plain && this.#singlePart ? toFrameOutcome([this.#singlePart], plain) : this.#toOutcome()
    this.#singlePart = undefined
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

  /** Nothing but the beginning of a message that is lost is worth its memory. */
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

  /** One piece is checked whole at the end; only several can cut a character in two. */
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
