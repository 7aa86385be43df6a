import { isUtf8 } from 'node:buffer'
import { TextDecoder } from 'node:util'
import { type Envelope, JsonScanner } from '@sallyport/core'
import type { Frame } from './transport.ts'

/** What one message turned out to be. */
export type FrameOutcome =
  | { readonly kind: 'frame'; readonly frame: Frame }
  | { readonly kind: 'empty' }
  /** Not one JSON value in UTF-8. `sample` is its beginning, fit to be shown. */
  | { readonly kind: 'garbage'; readonly reason: string; readonly sample: string }
  /** Over the limit; nothing of it was kept but the envelope, so that its call can be told. */
  | { readonly kind: 'oversized'; readonly bytes: number; readonly envelope: Envelope | undefined }

/** Takes the pieces of one message as they come and proves it, holding on to no more than the limit. */
export class FrameReader {
  readonly #limit: number
  #parts: Buffer[] = []
  #bytes = 0
  #scanner = new JsonScanner()
  #decoder: TextDecoder | undefined
  #utf8 = true

  constructor(limit: number) {
    this.#limit = limit
  }

  get bytes(): number {
    return this.#bytes
  }

  feed(part: Buffer): void {
    if (part.length === 0) return
    this.#bytes += part.length
    this.#scanner.feed(part)
    if (this.#bytes > this.#limit) {
      this.#parts = []
      return
    }
    this.#checkUtf8(part)
    this.#parts.push(part)
  }

  /** Ends this message and makes the reader ready for the next. */
  finish(): FrameOutcome {
    const outcome = this.#outcome()
    this.#parts = []
    this.#bytes = 0
    this.#scanner = new JsonScanner()
    this.#decoder = undefined
    this.#utf8 = true
    return outcome
  }

  #outcome(): FrameOutcome {
    if (this.#bytes === 0) return { kind: 'empty' }
    const envelope = this.#scanner.end()
    if (this.#bytes > this.#limit) return { kind: 'oversized', bytes: this.#bytes, envelope }
    if (envelope === undefined) return this.#garbage(this.#scanner.failure ?? 'not JSON')
    const last = this.#parts.length - 1
    if (last === 0) this.#utf8 = isUtf8(this.#parts[0] as Buffer)
    else this.#decode(undefined)
    if (!this.#utf8) return this.#garbage('not UTF-8')
    return { kind: 'frame', frame: { parts: this.#parts, envelope } }
  }

  #garbage(reason: string): FrameOutcome {
    const sample = (this.#parts[0] ?? Buffer.alloc(0)).subarray(0, 200).toString('utf8')
    return { kind: 'garbage', reason, sample }
  }

  /** One piece is checked whole at the end; a character may be cut in two only where there are several. */
  #checkUtf8(part: Buffer): void {
    if (this.#parts.length === 0) return
    if (this.#decoder === undefined) {
      this.#decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
      this.#decode(this.#parts[0])
    }
    this.#decode(part)
  }

  #decode(part: Buffer | undefined): void {
    if (!this.#utf8) return
    try {
      this.#decoder?.decode(part, { stream: part !== undefined })
    } catch {
      this.#utf8 = false
    }
  }
}
