import { brokenHttp } from './connection-failure.ts'
import { type BodyFraming, type ResponseHead, readResponseHead } from './response-head.ts'

export interface ResponseListener {
  onHead(head: ResponseHead): void
  onBody(chunk: Buffer): void
  /** The response is complete. `isClean`: no unexpected bytes followed it. */
  onEnd(isClean: boolean): void
}

type Stage = 'head' | BodyFraming['kind'] | 'chunk' | 'after chunk' | 'trailers' | 'over'

/** A longer line before a chunk is only an attempt to fill our memory; the same limit applies to trailers. */
const MAX_LINE_BYTES = 4_096
const MAX_TRAILER_BYTES = 16_384
const EMPTY = Buffer.alloc(0)

/** Reads the responses of one connection, one after the other, as they arrive. */
export class ResponseReader {
  #listener: ResponseListener | undefined
  #stage: Stage = 'over'
  /** The remaining bytes of a body, a chunk, or the trailers. */
  #left = 0
  /** A line or a head that has not arrived completely. */
  #buffered: Buffer = EMPTY
  /** How many of the current bytes were held back, and so were searched before. */
  #scanned = 0
  #lastHead: ResponseHead | undefined

  /** Sets the listener for the next response. */
  begin(listener: ResponseListener): void {
    this.#listener = listener
    this.#stage = 'head'
  }

  /** No further events are reported. */
  stop(): void {
    this.#listener = undefined
    this.#stage = 'over'
  }

  get isOver(): boolean {
    return this.#stage === 'over'
  }

  /** Throws if the data is invalid. */
  feed(chunk: Buffer): void {
    const bytes = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk])
    this.#scanned = this.#buffered.length
    this.#buffered = EMPTY
    let at = 0
    while (at < bytes.length && this.#stage !== 'over') {
      const next = this.#step(bytes, at)
      if (next === undefined) {
        this.#buffered = bytes.subarray(at)
        return
      }
      at = next
    }
    if (this.#stage === 'over') this.#emitEnd(at === bytes.length)
  }

  /** The connection has ended. Returns false if that was too early. */
  finish(): boolean {
    if (this.#stage !== 'until closed') return false
    this.#stage = 'over'
    this.#emitEnd(true)
    return true
  }

  /** The new read position; `undefined` if it needs more bytes. */
  #step(bytes: Buffer, at: number): number | undefined {
    switch (this.#stage) {
      case 'head':
        return this.#head(bytes, at)
      case 'chunked':
        return this.#chunkSize(bytes, at)
      case 'after chunk':
        return this.#afterChunk(bytes, at)
      case 'trailers':
        return this.#trailers(bytes, at)
      default:
        return this.#body(bytes, at)
    }
  }

  #head(bytes: Buffer, at: number): number | undefined {
    const head = readResponseHead(bytes, at, { scannedTo: at === 0 ? this.#scanned : at, previous: this.#lastHead })
    if (head === undefined) return undefined
    this.#lastHead = head
    // Informational responses contain nothing that we need.
    if (head.status < 200) return head.end
    const { framing } = head
    this.#stage = framing.kind
    this.#left = framing.kind === 'sized' ? framing.bytes : 0
    if (framing.kind === 'sized' && framing.bytes === 0) this.#stage = 'over'
    this.#listener?.onHead(head)
    return head.end
  }

  #body(bytes: Buffer, at: number): number {
    const isEndless = this.#stage === 'until closed'
    const end = isEndless ? bytes.length : Math.min(bytes.length, at + this.#left)
    if (!isEndless) this.#left -= end - at
    this.#listener?.onBody(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
    // The listener may have cancelled.
    if (isEndless || this.#left > 0 || this.#stage === 'over') return end
    this.#stage = this.#stage === 'chunk' ? 'after chunk' : 'over'
    return end
  }

  #chunkSize(bytes: Buffer, at: number): number | undefined {
    const end = findLineEnd(bytes, at, MAX_LINE_BYTES)
    if (end === undefined) return undefined
    const size = /^0*([0-9A-Fa-f]{1,8})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/.exec(
      bytes.toString('latin1', at, end),
    )?.[1]
    if (size === undefined) throw brokenHttp('the size of a chunk cannot be read')
    const length = Number.parseInt(size, 16)
    this.#left = length === 0 ? MAX_TRAILER_BYTES : length
    this.#stage = length === 0 ? 'trailers' : 'chunk'
    return end + 2
  }

  #afterChunk(bytes: Buffer, at: number): number | undefined {
    if (bytes.length - at < 2) return undefined
    if (bytes[at] !== 0x0d || bytes[at + 1] !== 0x0a) throw brokenHttp('a chunk is longer than its size')
    this.#stage = 'chunked'
    return at + 2
  }

  /** Trailers are skipped, up to the empty line at their end. */
  #trailers(bytes: Buffer, at: number): number | undefined {
    const end = findLineEnd(bytes, at, this.#left)
    if (end === undefined) return undefined
    this.#left -= end - at
    if (end === at) this.#stage = 'over'
    return end + 2
  }

  #emitEnd(isClean: boolean): void {
    const listener = this.#listener
    this.#listener = undefined
    listener?.onEnd(isClean)
  }
}

function findLineEnd(bytes: Buffer, at: number, maxBytes: number): number | undefined {
  const end = bytes.indexOf('\r\n', at, 'latin1')
  if (end >= 0 && end - at <= maxBytes) return end
  if (end >= 0 || bytes.length - at > maxBytes) throw brokenHttp('a line is too long')
  if (bytes.includes('\n', at)) throw brokenHttp('a line does not end with CRLF')
  return undefined
}
