/** The limit of a line, and who receives what was read. */
export interface LineReaderOptions {
  readonly limit: number
  /** Without its end, and never empty. */
  readonly onLine: (line: Buffer) => void
  readonly onOversized: () => void
  /** Takes the pieces of a line over the limit as they pass, from its beginning; nothing of it is kept. */
  readonly onPassed?: (piece: Buffer) => void
  /** Told of every line that does not end within its chunk. */
  readonly unfinished?: UnfinishedLine
}

/** Counts the bytes of a line that has not ended yet. */
export interface UnfinishedLine {
  /** So many more bytes of it would be kept. Returns false if they must not be: the line is passed over then. */
  grow(bytes: number): boolean
  end(): void
}

/** Cuts a byte stream into lines. A line over the limit is passed over and reported; whatever comes after it is read. */
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

  /** The beginning of a line whose end has not come yet. */
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

  /** Passes over the line that has begun: nothing of it is kept, and its end is reported as that of one over the limit. */
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
