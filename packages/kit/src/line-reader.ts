/** The limit of a line, and the receivers of what was read. */
export interface LineReaderOptions {
  readonly limit: number
  /** Called with each line, without its line break and never empty. */
  readonly onLine: (line: Buffer) => void
  readonly onOversized: () => void
  /** Called with the pieces of a line over the limit, from its beginning. They are not buffered. */
  readonly onPassed?: (piece: Buffer) => void
  /** Informed about every line that does not end within its chunk. */
  readonly unfinished?: UnfinishedLine
}

/** Counts the buffered bytes of an incomplete line. */
export interface UnfinishedLine {
  /** Called before more bytes of it are buffered. Returns false to refuse them: the line is then skipped. */
  grow(bytes: number): boolean
  end(): void
}

/** Splits a byte stream into lines. A line over the limit is skipped and reported; the lines after it are read. */
export class LineReader {
  readonly #limit: number
  readonly #onLine: (line: Buffer) => void
  readonly #onOversized: () => void
  readonly #onPassed: ((piece: Buffer) => void) | undefined
  readonly #line: UnfinishedLine | undefined
  #isUnfinished = false
  #isDropped = false
  #parts: Buffer[] = []
  #bytes = 0

  constructor(options: LineReaderOptions) {
    this.#limit = options.limit
    this.#onLine = options.onLine
    this.#onOversized = options.onOversized
    this.#onPassed = options.onPassed
    this.#line = options.unfinished
  }

  /** The beginning of a line whose end has not arrived yet. */
  get unfinished(): Buffer {
    return Buffer.concat(this.#parts)
  }

  feed(chunk: Buffer): void {
    let from = 0
    for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, from)) {
      this.#append(chunk.subarray(from, at))
      from = at + 1
      this.#endLine()
    }
    if (from < chunk.length) this.#appendUnfinished(chunk.subarray(from))
  }

  /** Skips the current line: nothing of it is buffered, and its end is reported like that of a line over the limit. */
  drop(): void {
    this.#isDropped = true
    this.#discard()
  }

  #appendUnfinished(part: Buffer): void {
    this.#isUnfinished = true
    if (!this.#isDropped && this.#line?.grow(part.length) === false) this.#isDropped = true
    this.#append(part)
  }

  #append(part: Buffer): void {
    this.#bytes += part.length
    this.#parts.push(part)
    if (this.#bytes > this.#limit || this.#isDropped) this.#discard()
  }

  #discard(): void {
    const passed = this.#parts
    this.#parts = []
    if (this.#onPassed) for (const piece of passed) this.#onPassed(piece)
  }

  #endLine(): void {
    const parts = this.#parts
    const bytes = this.#bytes
    this.#parts = []
    this.#bytes = 0
    const isDropped = this.#isDropped
    this.#isDropped = false
    if (this.#isUnfinished) this.#line?.end()
    this.#isUnfinished = false
    if (isDropped || bytes > this.#limit) return this.#onOversized()
    const line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
    const end = line.at(-1) === 0x0d ? line.length - 1 : line.length
    if (end > 0) this.#onLine(line.subarray(0, end))
  }
}
