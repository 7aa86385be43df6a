/** Options of one operation. */
export interface OperationOptions {
  readonly signal?: AbortSignal
  /** How long the server may be silent. Each progress notification restarts it. */
  readonly timeoutMs?: number
  readonly onProgress?: (progress: Progress) => void
}

/** The progress of a running call. */
export interface Progress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/** A server that reports progress but never answers times out after this multiple of the timeout. */
const MAX_TIMEOUT_FACTOR = 10
/** The longest delay that `setTimeout` takes: a longer one fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Aborts one operation when its caller cancels it or when the server was silent for too long. */
export class CallTimer {
  /** Its reason is sent to servers, so it never contains more than a fixed sentence. */
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

  /** The caller that cancelled the operation, if one did. */
  get abortedBy(): AbortSignal | undefined {
    return this.#callerSignals.find(({ aborted }) => aborted)
  }

  /** Rejects when the operation is aborted, for code that does not check the signal. */
  rejectOnAbort(): Promise<never> {
    return new Promise((_, reject) => {
      this.signal.addEventListener('abort', () => reject(new Error(String(this.signal.reason))), { once: true })
    })
  }

  /** Pauses the timer: the server waits for an answer from our side. */
  pause(): void {
    clearTimeout(this.#timer)
    this.#pausedAt ??= performance.now()
  }

  /** Resumes the timer. The time of the question does not count. */
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
