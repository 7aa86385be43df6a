import type { Writable } from 'node:stream'

/** As the gateway writes it; inside a string it would be escaped. */
const PROGRESS = Buffer.from('"method":"notifications/progress"')
const NEWLINE = 0x0a
/** How long an answer waits after progress that was received together with it. */
const LEAD_MS = 20
/** What comes in one piece waits at most this often. */
const MAX_WAITS = 3

export interface PacedOutputOptions {
  readonly output: Writable
  /** Nothing more may be written for now, until `onReady`. */
  readonly onBusy: () => void
  readonly onReady: () => void
}

/**
 * Writes what follows progress a moment later. The SDKs drop progress that they read together with its answer
 * (typescript-sdk#2580). So the gateway sends the answer later, but a busy machine wakes this process too late, and it
 * gets both at once.
 */
export class PacedOutput {
  readonly #options: PacedOutputOptions
  #held: Buffer | undefined
  #timer: NodeJS.Timeout | undefined
  #waits = 0

  constructor(options: PacedOutputOptions) {
    this.#options = options
    options.output.on('drain', this.#onDrain)
  }

  write(chunk: Buffer): void {
    if (this.#held) this.#held = Buffer.concat([this.#held, chunk])
    else this.#writePart(chunk)
  }

  /** Writes everything now, for good. */
  end(): void {
    this.#options.output.off('drain', this.#onDrain)
    clearTimeout(this.#timer)
    if (this.#held) this.#options.output.write(this.#held)
    this.#held = undefined
  }

  readonly #onDrain = (): void => {
    if (!this.#held) this.#options.onReady()
  }

  #writePart(chunk: Buffer): void {
    const { output, onBusy } = this.#options
    const end = this.#waits < MAX_WAITS ? findAfterProgress(chunk) : chunk.length
    if (!output.write(chunk.subarray(0, end))) onBusy()
    if (end === chunk.length) {
      this.#waits = 0
      return
    }
    this.#waits++
    this.#held = chunk.subarray(end)
    onBusy()
    this.#timer = setTimeout(() => this.#release(), LEAD_MS)
  }

  #release(): void {
    const held = this.#held ?? Buffer.alloc(0)
    this.#held = undefined
    this.#writePart(held)
    if (!this.#held && !this.#options.output.writableNeedDrain) this.#options.onReady()
  }
}

/** Where the first message after progress begins, or the length if there is none. */
function findAfterProgress(chunk: Buffer): number {
  let progress = chunk.indexOf(PROGRESS)
  while (progress >= 0) {
    const end = chunk.indexOf(NEWLINE, progress) + 1
    if (end === 0 || end === chunk.length) break
    progress = chunk.indexOf(PROGRESS, end)
    const next = chunk.indexOf(NEWLINE, end)
    const isProgress = progress >= 0 && (next < 0 || progress < next)
    if (!isProgress) return end
  }
  return chunk.length
}
