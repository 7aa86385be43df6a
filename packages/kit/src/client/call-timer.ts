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
const MAX_TIMEOUT_FACTOR = 10
/** A longer timer fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Ends one operation: when its caller wants, or when nothing came for too long. */
export class CallTimer {
  /** Its reason is sent to servers, so it never says more than this. */
  readonly #controller = new AbortController()
  readonly #timeoutMs: number
  readonly #callerSignals: readonly AbortSignal[]
  #deadline: number
  readonly #cancel = (): void => this.#controller.abort('The call was cancelled')
  #timer: NodeJS.Timeout | undefined
  #pausedAt: number | undefined
  #isTimedOut = false

  constructor(timeoutMs: number, callers: readonly AbortSignal[]) {
    this.#timeoutMs = timeoutMs
    this.#callerSignals = callers
    this.#deadline = performance.now() + MAX_TIMEOUT_FACTOR * timeoutMs
    for (const caller of callers) caller.addEventListener('abort', this.#cancel, { once: true })
    if (callers.some(({ aborted }) => aborted)) this.#cancel()
    this.extend()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get isTimedOut(): boolean {
    return this.#isTimedOut
  }

  /** The caller that wanted the end, if one did. */
  get abortedBy(): AbortSignal | undefined {
    return this.#callerSignals.find(({ aborted }) => aborted)
  }

  /** Rejects at the end, for what does not look at the signal. */
  rejectOnAbort(): Promise<never> {
    return new Promise((_, reject) => {
      this.signal.addEventListener('abort', () => reject(new Error(String(this.signal.reason))), { once: true })
    })
  }

  /** Stands still: somebody on our side is asked, and the server waits for us. */
  pause(): void {
    clearTimeout(this.#timer)
    this.#pausedAt ??= performance.now()
  }

  /** Goes on. The time of the question does not count. */
  resume(): void {
    this.#deadline += performance.now() - (this.#pausedAt ?? performance.now())
    this.#pausedAt = undefined
    this.extend()
  }

  extend(): void {
    clearTimeout(this.#timer)
    if (this.#pausedAt !== undefined) return
    const left = Math.min(this.#timeoutMs, this.#deadline - performance.now(), MAX_TIMER_MS)
    this.#timer = setTimeout(() => this.#expire(), Math.max(0, left))
  }

  stop(): void {
    clearTimeout(this.#timer)
    for (const caller of this.#callerSignals) caller.removeEventListener('abort', this.#cancel)
  }

  #expire(): void {
    this.#isTimedOut = true
    this.#controller.abort('The call took too long')
  }
}
