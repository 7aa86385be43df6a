/** What a caller may say about one operation. */
export interface OperationOptions {
  readonly signal?: AbortSignal
  /** How long nothing may come; progress starts it anew. */
  readonly timeoutMs?: number
  readonly onProgress?: (progress: Progress) => void
}

/** How far a running call has come. */
export interface Progress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/** A server that only ever reports progress is not waited for longer than so many times the time-out. */
const PATIENCE = 10
/** A longer timer fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1

/** Ends one operation: when its caller wants, or when nothing came for too long. */
export class CallClock {
  /** Its reason is sent to servers, so it never says more than this. */
  readonly #ending = new AbortController()
  readonly #timeoutMs: number
  readonly #callers: readonly AbortSignal[]
  #last: number
  readonly #cancel = (): void => this.#ending.abort('The call was cancelled')
  #timer: NodeJS.Timeout | undefined
  #heldSince: number | undefined
  #isLate = false

  constructor(timeoutMs: number, callers: readonly AbortSignal[]) {
    this.#timeoutMs = timeoutMs
    this.#callers = callers
    this.#last = performance.now() + PATIENCE * timeoutMs
    for (const caller of callers) caller.addEventListener('abort', this.#cancel, { once: true })
    if (callers.some(({ aborted }) => aborted)) this.#cancel()
    this.extend()
  }

  get signal(): AbortSignal {
    return this.#ending.signal
  }

  get isLate(): boolean {
    return this.#isLate
  }

  /** The caller that wanted the end, if one did. */
  get endedBy(): AbortSignal | undefined {
    return this.#callers.find(({ aborted }) => aborted)
  }

  /** Rejects at the end, for what does not look at the signal. */
  ended(): Promise<never> {
    return new Promise((_, reject) => {
      this.signal.addEventListener('abort', () => reject(new Error(String(this.signal.reason))), { once: true })
    })
  }

  /** Stands still: somebody on our side is asked, and the server waits for us. */
  hold(): void {
    clearTimeout(this.#timer)
    this.#heldSince ??= performance.now()
  }

  /** Goes on. The time of the question does not count. */
  release(): void {
    this.#last += performance.now() - (this.#heldSince ?? performance.now())
    this.#heldSince = undefined
    this.extend()
  }

  extend(): void {
    clearTimeout(this.#timer)
    if (this.#heldSince !== undefined) return
    const left = Math.min(this.#timeoutMs, this.#last - performance.now(), LONGEST_TIMER)
    this.#timer = setTimeout(() => this.#expire(), Math.max(0, left))
  }

  stop(): void {
    clearTimeout(this.#timer)
    for (const caller of this.#callers) caller.removeEventListener('abort', this.#cancel)
  }

  #expire(): void {
    this.#isLate = true
    this.#ending.abort('The call took too long')
  }
}
