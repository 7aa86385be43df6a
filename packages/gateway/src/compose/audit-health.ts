import type { SallyportError } from '@sallyport/core'
import type { EventLog } from '../store/store.ts'

export interface AuditHealthOptions {
  readonly log: EventLog
  /** The folder of the log, for messages to the operator. */
  readonly folder: string
  readonly isRequired: () => boolean
  readonly onWarning: (text: string) => void
  readonly retryMs?: number
}

const RETRY_MS = 1_000

/** Reports once that the log cannot be written, and once that it can again. It retries by itself, since no call may come. */
export class AuditHealth {
  readonly #options: AuditHealthOptions
  #timer: NodeJS.Timeout | undefined
  #failuresBefore = 0
  #isRetrying = false

  constructor(options: AuditHealthOptions) {
    this.#options = options
    options.log.onProblem((problem) => this.#onProblemChange(problem))
  }

  /** True while every call is refused. */
  get isDown(): boolean {
    const { log, isRequired } = this.#options
    return log.problem !== undefined && isRequired()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #onProblemChange(problem: SallyportError | undefined): void {
    const { log, folder, isRequired, onWarning, retryMs = RETRY_MS } = this.#options
    clearInterval(this.#timer)
    if (problem === undefined) {
      onWarning(`The event log in ${folder} can be written again.`)
      // Another record was written first. The gap must not be recorded from inside that write.
      if (!this.#isRetrying) queueMicrotask(() => this.#recordGap())
      return
    }
    this.#failuresBefore = log.failures
    const effect = isRequired() ? 'Every call is refused until it can be (audit.required)' : 'Calls are not recorded'
    onWarning(`${problem.message} It is in ${folder}. ${effect}. ${problem.hint ?? ''}`.trimEnd())
    this.#timer = setInterval(() => this.#retry(), retryMs).unref()
  }

  #retry(): void {
    this.#isRetrying = true
    this.#recordGap()
    this.#isRetrying = false
  }

  #recordGap(): void {
    const { log } = this.#options
    try {
      log.append({ type: 'LOG_RESUMED', unwritten: log.failures - this.#failuresBefore })
    } catch {
      // The log reports this failure itself, and the timer retries. Our own attempts do not count as lost records.
      this.#failuresBefore += 1
    }
  }
}
