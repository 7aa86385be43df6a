/** An event, complete after its empty line. Its data went to the sink before, piece by piece. */
export interface SseEvent {
  readonly type: string
  /** The id as its bytes in latin1, so that it can be sent back in a header unchanged. */
  readonly id: string | undefined
}

export interface SseSink {
  /** A piece of the current event's data, as it arrived. Lines are joined by a line feed. */
  onData(piece: Buffer): void
  /** Not called for an event without a data line. */
  onEvent(event: SseEvent): void
}

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const BOM = '\u00ef\u00bb\u00bf'
const MAX_NAME_LENGTH = BOM.length + 'event'.length
const MAX_VALUE_LENGTH = 1024
const LINE_FEED = Buffer.from('\n')

// Which part the current bytes belong to.
const NAME = 0
const AFTER_COLON = 1
const DATA = 2
const VALUE = 3
const IGNORED = 4

/**
 * Reads `text/event-stream` bytes in chunks of any size. Data is passed on and everything else is bounded: it never
 * buffers a line.
 */
export class SseParser {
  readonly #sink: SseSink
  #state = NAME
  #name = ''
  #value = ''
  #tooLong = false
  #firstLine = true
  #afterCr = false
  #dataLines = 0
  #type = ''
  #id: string | undefined
  #lastEventId: string | undefined
  #retry: number | undefined

  constructor(sink: SseSink) {
    this.#sink = sink
  }

  /** The id up to which events were received completely; `undefined` if the server sent none that can be sent back. */
  get lastEventId(): string | undefined {
    return this.#lastEventId
  }

  /** The reconnect delay that the server asked for, in milliseconds. */
  get retry(): number | undefined {
    return this.#retry
  }

  feed(chunk: Buffer): void {
    let at = 0
    // A carriage return is rare: search once per chunk, or every line would scan the whole rest for it.
    let nextCr = indexOrEnd(chunk, CR, 0)
    while (at < chunk.length) {
      if (this.#afterCr) {
        this.#afterCr = false
        if (chunk[at] === LF) {
          at++
          continue
        }
      }
      if (nextCr < at) nextCr = indexOrEnd(chunk, CR, at)
      const end = Math.min(nextCr, indexOrEnd(chunk, LF, at))
      this.#lineBytes(chunk, at, end)
      if (end === chunk.length) return
      this.#endLine()
      this.#afterCr = end === nextCr
      at = end + 1
    }
  }

  /** The stream ended normally. A missing last empty line is accepted: a cut message would not be JSON anyway. */
  end(): void {
    if (this.#state !== NAME || this.#name !== '') this.#endLine()
    this.#endEvent()
  }

  #lineBytes(chunk: Buffer, from: number, end: number): void {
    let at = from
    if (this.#state === NAME) at = this.#nameBytes(chunk, at, end)
    if (at === end) return
    if (this.#state === AFTER_COLON) {
      if (chunk[at] === SPACE) at++
      this.#beginValue()
      if (at === end) return
    }
    if (this.#state === DATA) this.#sink.onData(chunk.subarray(at, end))
    else if (this.#state === VALUE) this.#valueBytes(chunk, at, end)
  }

  #nameBytes(chunk: Buffer, from: number, end: number): number {
    let at = from
    while (at < end) {
      const byte = chunk[at++] as number
      if (byte === COLON) {
        this.#state = AFTER_COLON
        return at
      }
      if (this.#name.length === MAX_NAME_LENGTH) {
        this.#state = IGNORED
        return end
      }
      this.#name += String.fromCharCode(byte)
    }
    return at
  }

  #valueBytes(chunk: Buffer, from: number, end: number): void {
    if (this.#value.length + end - from > MAX_VALUE_LENGTH) this.#tooLong = true
    else this.#value += chunk.toString('latin1', from, end)
  }

  /** The field name is complete: it decides where the value goes. */
  #beginValue(): void {
    if (this.#firstLine && this.#name.startsWith(BOM)) this.#name = this.#name.slice(BOM.length)
    if (this.#name === 'data') {
      this.#state = DATA
      if (this.#dataLines++ > 0) this.#sink.onData(LINE_FEED)
      return
    }
    this.#state = this.#name === 'event' || this.#name === 'id' || this.#name === 'retry' ? VALUE : IGNORED
  }

  #endLine(): void {
    const bare = this.#state === NAME
    if (bare || this.#state === AFTER_COLON) this.#beginValue()
    if (bare && this.#name === '') this.#endEvent()
    else if (this.#state === VALUE) this.#takeField()
    this.#state = NAME
    this.#name = ''
    this.#value = ''
    this.#tooLong = false
    this.#firstLine = false
  }

  #takeField(): void {
    if (this.#name === 'event') this.#type = this.#tooLong ? '' : this.#value
    else if (this.#name === 'id') this.#takeId()
    else if (/^\d{1,9}$/.test(this.#value) && !this.#tooLong) this.#retry = Number(this.#value)
  }

  /**
   * By the standard, an id with a NUL is ignored; one with other control characters, or a huge one, could not be sent
   * back.
   */
  #takeId(): void {
    if (this.#value.includes('\0')) return
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    this.#id = this.#tooLong || /[\x01-\x1f\x7f]/.test(this.#value) ? '' : this.#value
  }

  #endEvent(): void {
    if (this.#id !== undefined) this.#lastEventId = this.#id === '' ? undefined : this.#id
    const id = this.#lastEventId
    const type = this.#type === '' ? 'message' : this.#type
    const hadData = this.#dataLines > 0
    this.#type = ''
    this.#id = undefined
    this.#dataLines = 0
    if (hadData) this.#sink.onEvent({ type, id })
  }
}

function indexOrEnd(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from)
  return at === -1 ? chunk.length : at
}
