import { Worker } from 'node:worker_threads'
import { type CheckJob, COMPILED, type JobOutcome, READY } from './job.ts'

export interface WorkerQueueOptions {
  /** The built program of the thread. */
  readonly threadFile: string
  /** How long one job may take, in milliseconds. */
  readonly budget: number
}

interface Pending {
  readonly job: CheckJob
  readonly settle: (outcome: JobOutcome) => void
}

/** Loading takes a tenth of a second; a machine that needs this long has other troubles. */
const START_BUDGET = 15_000
const MAX_WAITING = 256
const MAX_PROVEN = 10_000
const MEMORY = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 } as const

/**
 * A thread that does one job at a time and is ended, whatever it is doing, when a job takes too long. Those that wait
 * are done by the next thread. It is started for the first job, and keeps no process alive.
 */
export class WorkerQueue {
  readonly #options: WorkerQueueOptions
  readonly #waiting: Pending[] = []
  /** Schemas of which a job was done: theirs go first, so that no flood of others holds them up. */
  readonly #proven = new Set<string>()
  readonly #ending = new Set<Promise<unknown>>()
  #worker: Worker | undefined
  #isReady = false
  /** Schemas that the thread of this moment has compiled. */
  #compiled = new Set<string>()
  #isClosed = false
  #current: Pending | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(options: WorkerQueueOptions) {
    this.#options = options
  }

  run(job: CheckJob): Promise<JobOutcome> {
    if (this.#isClosed) return Promise.resolve({ kind: 'unchecked', why: 'the gateway is closing' })
    if (this.#waiting.length >= MAX_WAITING) return Promise.resolve({ kind: 'crowded' })
    return new Promise((settle) => {
      this.#waiting.push({ job, settle })
      this.#startNext()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#terminateWorker()
    const left = [...(this.#current ? [this.#current] : []), ...this.#waiting.splice(0)]
    this.#current = undefined
    for (const { settle } of left) settle({ kind: 'unchecked', why: 'the gateway is closing' })
    await Promise.all(this.#ending)
  }

  #startNext(): void {
    if (this.#current !== undefined || this.#waiting.length === 0) return
    if (this.#worker === undefined) return this.#start()
    if (!this.#isReady) return
    const first = this.#waiting.findIndex(({ job }) => this.#proven.has(job.digest))
    const [next] = this.#waiting.splice(Math.max(first, 0), 1)
    if (next === undefined) return
    this.#current = next
    this.#startJobTimer()
    this.#worker.postMessage(next.job)
  }

  #start(): void {
    const worker = new Worker(this.#options.threadFile, {
      name: 'schema-check',
      env: {},
      execArgv: [],
      // Nothing of a thread may get among the lines of a protocol. It is not read either: who reads keeps it alive.
      stdout: true,
      stderr: true,
      resourceLimits: MEMORY,
    })
    this.#worker = worker
    this.#isReady = false
    this.#compiled = new Set()
    worker.on('message', (said: JobOutcome | typeof READY | typeof COMPILED) => this.#onMessage(worker, said))
    // It ends after an error; that it ended is what counts.
    let trouble = 'it ended'
    worker.on('error', (error) => {
      trouble = error.message
    })
    worker.on('exit', () => this.#onWorkerLost(worker, trouble))
    // Only now: whoever listens to a thread keeps it alive.
    worker.unref()
    this.#startTimer(START_BUDGET, () => this.#onWorkerLost(worker, `it did not start within ${START_BUDGET} ms`))
  }

  #onMessage(worker: Worker, said: JobOutcome | typeof READY | typeof COMPILED): void {
    if (worker !== this.#worker) return
    this.#clearTimer()
    if (said === COMPILED) return this.#beginCheck()
    if (said === READY) this.#isReady = true
    else this.#settle(said)
    this.#startNext()
  }

  /** The value has a time of its own: a schema that compiles slowly is another fault than one that checks slowly. */
  #beginCheck(): void {
    if (this.#current !== undefined) this.#compiled.add(this.#current.job.digest)
    this.#startJobTimer()
  }

  #startJobTimer(): void {
    this.#startTimer(this.#options.budget, () => this.#exceed(`it took longer than ${this.#options.budget} ms`))
  }

  #settle(outcome: JobOutcome): void {
    const settled = this.#current
    if (settled === undefined) return
    this.#current = undefined
    if (outcome.kind === 'excess') this.#proven.delete(settled.job.digest)
    else if (this.#proven.size < MAX_PROVEN) this.#proven.add(settled.job.digest)
    settled.settle(outcome)
    if (outcome.kind === 'excess') this.#settleHopeless(settled.job)
  }

  /** A crowd of calls that each take all of the time would leave none for anybody else. */
  #settleHopeless({ group }: CheckJob): void {
    const shares = ({ job }: Pending): boolean => job.group === group || job.digest === group
    const hopeless = this.#waiting.filter(shares)
    this.#waiting.splice(0, Infinity, ...this.#waiting.filter((pending) => !shares(pending)))
    for (const { settle } of hopeless) settle({ kind: 'hopeless' })
  }

  /** The thread is gone: by its memory if it was at work, and for good if it never was. */
  #onWorkerLost(worker: Worker, trouble: string): void {
    if (worker !== this.#worker) return
    if (this.#isReady) return this.#exceed(`its thread was lost (${trouble})`)
    this.#terminateWorker()
    for (const { settle } of this.#waiting.splice(0))
      settle({ kind: 'unchecked', why: `the thread for it failed: ${trouble}` })
  }

  #exceed(why: string): void {
    const isCompiled = this.#current !== undefined && this.#compiled.has(this.#current.job.digest)
    this.#terminateWorker()
    this.#settle(isCompiled ? { kind: 'excess', why } : { kind: 'unusable', why: `to compile it: ${why}`, final: true })
    this.#startNext()
  }

  #terminateWorker(): void {
    this.#clearTimer()
    const worker = this.#worker
    this.#worker = undefined
    if (worker === undefined) return
    const ending = worker.terminate().finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }

  #startTimer(time: number, late: () => void): void {
    const timer = setTimeout(() => {
      // Where this thread itself was held up, the answer may be here already: it is heard before the next turn.
      setImmediate(() => {
        if (timer === this.#timer) late()
      })
    }, time)
    this.#timer = timer
  }

  #clearTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
