import { createHash } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import {
  ALLOW,
  compileSimpleSchema,
  excerpt,
  formatViolations,
  type Json,
  type JsonObject,
  type SchemaValidator,
  type Verdict,
} from '@sallyport/core'
import { type CheckJob, COMPILED, type JobOutcome, READY } from './job.ts'

export interface ArgumentCheckOptions {
  /** The built `schema-thread.js`: a thread cannot be started from TypeScript source or from inside a bundle. */
  readonly threadFile: string
  /** The maximum time of one check in the worker thread, in milliseconds. */
  readonly budget?: number
  /** How long a schema that took longer is not tried again, in milliseconds. */
  readonly cooldown?: number
  readonly now?: () => number
}

interface KnownSchema {
  readonly plain: SchemaValidator | undefined
  /** Created when the schema is first sent to the thread. */
  serialized?: { readonly digest: string; readonly text: string }
  /** Why no part of the schema can be checked. */
  unusable?: string
}

const DEFAULT_BUDGET_MS = 1_000
const DEFAULT_COOLDOWN_MS = 60_000
const LARGE = 65_536
const MAX_CHARACTERS = 8_000_000
const MAX_REASON_LENGTH = 200
const REMEDY = 'If this continues, the author of the server has to simplify the schema.'
const TIMED_OUT = 'its input schema took too long to check a moment ago.'
const NO_ARGUMENTS: JsonObject = Object.freeze({})

/**
 * Models often write null for arguments that they leave out, and the protocol allows null arguments (their headers are
 * left out). Arguments that are null and not required are left to the server.
 */
function dropOptionalNulls({ required }: JsonObject, args: JsonObject): JsonObject {
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  const remaining = Object.entries(args).filter(([name, value]) => value !== null || needed.includes(name))
  return remaining.length === Object.keys(args).length ? args : Object.fromEntries(remaining)
}

/**
 * Checks arguments against the input schemas of tools. Simple schemas are checked at once. All other schemas, and large
 * values, go to a worker thread that can be terminated: a slow schema or pattern must not block the whole gateway.
 */
export class ArgumentCheck {
  readonly #queue: WorkerQueue
  readonly #cooldown: number
  readonly #now: () => number
  readonly #known = new WeakMap<JsonObject, KnownSchema>()
  /** Schemas that took too long, and until when they are not tried. */
  readonly #coolingDown = new Map<string, number>()

  constructor({
    threadFile,
    budget = DEFAULT_BUDGET_MS,
    cooldown = DEFAULT_COOLDOWN_MS,
    now = () => performance.now(),
  }: ArgumentCheckOptions) {
    this.#queue = new WorkerQueue({ threadFile, budget })
    this.#cooldown = cooldown
    this.#now = now
  }

  /** Returns the verdict at once if possible. Schemas are cached by object identity, so they must not be changed. */
  check(schema: JsonObject, args: JsonObject = NO_ARGUMENTS): Verdict | Promise<Verdict> {
    const verdict = this.#check(schema, args)
    if (verdict === ALLOW) return verdict
    const retryWithoutNulls = (first: Verdict): Verdict | Promise<Verdict> => {
      const remaining = first.outcome === 'deny' ? dropOptionalNulls(schema, args) : args
      return remaining === args ? first : this.#check(schema, remaining)
    }
    return verdict instanceof Promise ? verdict.then(retryWithoutNulls) : retryWithoutNulls(verdict)
  }

  #check(schema: JsonObject, args: JsonObject): Verdict | Promise<Verdict> {
    const known = this.#known.get(schema) ?? this.#compile(schema)
    const fits = known.plain?.accepts(args)
    if (fits === true) return ALLOW
    if (fits === false) return invalid(formatViolations(known.plain?.violations(args) ?? []))
    return known.unusable === undefined ? this.#checkInWorker(known, schema, args) : uncheckable(known.unusable)
  }

  /** Checks any value against a schema of the operator. A value that cannot be checked counts as a violation too. */
  async findViolation(schema: JsonObject, value: Json): Promise<string | undefined> {
    const known = this.#known.get(schema) ?? this.#compile(schema)
    const fits = known.plain?.accepts(value)
    if (fits === true) return undefined
    if (fits === false) return formatViolations(known.plain?.violations(value) ?? [])
    known.serialized ??= serializeSchema(schema)
    const { digest, text } = known.serialized
    const outcome = await this.#queue.run({
      digest,
      group: `${digest} value`,
      schema: text,
      value: JSON.stringify(value),
    })
    if (outcome.kind === 'fits') return undefined
    return outcome.kind === 'violated' ? outcome.message : `it could not be checked (${outcome.kind})`
  }

  /** Why a schema cannot be checked completely; `undefined` if it can. Returns at once for a simple schema. */
  findSchemaProblem(schema: JsonObject): string | undefined | Promise<string | undefined> {
    const known = this.#known.get(schema) ?? this.#compile(schema)
    return known.plain === undefined ? this.#compileInWorker(known, schema) : undefined
  }

  async #compileInWorker(known: KnownSchema, schema: JsonObject): Promise<string | undefined> {
    known.serialized ??= serializeSchema(schema)
    const { digest, text } = known.serialized
    const job = { digest, group: digest, schema: text }
    const first = await this.#queue.run(job)
    // Try again: the failure may be due to a busy machine and not to the schema.
    const outcome = first.kind === 'unusable' && first.final ? await this.#queue.run(job) : first
    if (outcome.kind !== 'unusable') return undefined
    if (outcome.final) known.unusable = outcome.why
    return outcome.why
  }

  close(): Promise<void> {
    return this.#queue.close()
  }

  #compile(schema: JsonObject): KnownSchema {
    const known = { plain: compileSimpleSchema(schema) }
    this.#known.set(schema, known)
    return known
  }

  async #checkInWorker(known: KnownSchema, schema: JsonObject, args: JsonObject): Promise<Verdict> {
    known.serialized ??= serializeSchema(schema)
    const { digest, text } = known.serialized
    const value = JSON.stringify(args)
    // If large arguments take too long, small ones should still be checked.
    const group = value.length > LARGE ? `${digest} large` : digest
    if (this.#isCoolingDown(digest) || this.#isCoolingDown(group)) return unchecked(`${TIMED_OUT} ${REMEDY}`)
    if (value.length > MAX_CHARACTERS)
      return unchecked(`they have ${value.length} characters; at most ${MAX_CHARACTERS} can be checked.`)
    const outcome = await this.#queue.run({ digest, group, schema: text, value })
    if (outcome.kind === 'excess') this.#coolingDown.set(group, this.#now() + this.#cooldown)
    if (outcome.kind === 'unusable' && outcome.final) known.unusable = outcome.why
    return toVerdict(outcome)
  }

  #isCoolingDown(digest: string): boolean {
    const now = this.#now()
    for (const [other, until] of this.#coolingDown) if (until <= now) this.#coolingDown.delete(other)
    return this.#coolingDown.has(digest)
  }
}

function serializeSchema(schema: JsonObject): { readonly digest: string; readonly text: string } {
  const text = JSON.stringify(schema)
  return { digest: createHash('sha256').update(text).digest('base64'), text }
}

function toVerdict(outcome: JobOutcome): Verdict {
  switch (outcome.kind) {
    case 'fits':
      return ALLOW
    case 'violated':
      return invalid(outcome.message)
    case 'unusable':
      return uncheckable(outcome.why)
    case 'excess':
      return unchecked(
        `checking them against its input schema takes too much time or memory (${shorten(outcome.why)}). ${REMEDY}`,
      )
    case 'hopeless':
      return unchecked(`${TIMED_OUT} ${REMEDY}`)
    case 'unchecked':
      return unchecked(`${shorten(outcome.why)}.`)
    case 'crowded':
      return {
        outcome: 'deny',
        code: 'OVERLOADED',
        reason: 'Too many calls are waiting for the check of their arguments.',
      }
  }
}

const invalid = (violations: string): Verdict => ({
  outcome: 'deny',
  code: 'ARGUMENTS_INVALID',
  reason: `The arguments do not match the input schema of the tool: ${violations}.`,
})

/** Everything that could be checked is valid. A person has to check the rest. */
const uncheckable = (why: string): Verdict => ({
  outcome: 'ask',
  reason: `A person has to approve it: its arguments cannot be checked, since its input schema cannot be used (${shorten(why)}).`,
})

/** It is not known whether the arguments are valid, and somebody may have caused that on purpose: the call is refused. */
const unchecked = (why: string): Verdict => ({
  outcome: 'deny',
  code: 'ARGUMENTS_UNCHECKED',
  reason: `The arguments of this tool could not be checked: ${why}`,
})

const shorten = (why: string): string => excerpt(why, MAX_REASON_LENGTH)

interface WorkerQueueOptions {
  /** The built file of the thread. */
  readonly threadFile: string
  /** The maximum time of one job, in milliseconds. */
  readonly budget: number
}

type WorkerMessage = JobOutcome | typeof READY | typeof COMPILED

interface Pending {
  readonly job: CheckJob
  readonly settle: (outcome: JobOutcome) => void
}

/** Loading usually takes a tenth of a second, so a start this slow means a problem with the machine. */
const START_BUDGET = 15_000
const MAX_WAITING = 256
const MAX_PROVEN = 10_000
const MEMORY = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 } as const

/**
 * A worker thread that runs one job at a time. If a job takes too long, the thread is terminated, and a new thread runs
 * the waiting jobs. The thread is started for the first job and does not keep the process alive.
 */
class WorkerQueue {
  readonly #options: WorkerQueueOptions
  readonly #waiting: Pending[] = []
  /** Schemas with a completed job. Their jobs go first, so that many new schemas cannot delay them. */
  readonly #proven = new Set<string>()
  readonly #ending = new Set<Promise<unknown>>()
  #worker: Worker | undefined
  #isReady = false
  /** Schemas that the current thread has compiled. */
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
    const unfinished = [...(this.#current ? [this.#current] : []), ...this.#waiting.splice(0)]
    this.#current = undefined
    for (const { settle } of unfinished) settle({ kind: 'unchecked', why: 'the gateway is closing' })
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
      // Output of the thread must not mix with protocol lines. It is not read, because reading would keep the thread alive.
      stdout: true,
      stderr: true,
      resourceLimits: MEMORY,
    })
    this.#worker = worker
    this.#isReady = false
    this.#compiled = new Set()
    worker.on('message', (message: WorkerMessage) => this.#onMessage(worker, message))
    // After an error the thread always exits, so only the exit is handled.
    let reason = 'it ended'
    worker.on('error', (error) => {
      reason = error.message
    })
    worker.on('exit', () => this.#onWorkerLost(worker, reason))
    // After the listeners were added: adding a listener refs the thread again.
    worker.unref()
    this.#startTimer(START_BUDGET, () => this.#onWorkerLost(worker, `it did not start within ${START_BUDGET} ms`))
  }

  #onMessage(worker: Worker, message: WorkerMessage): void {
    if (worker !== this.#worker) return
    this.#clearTimer()
    if (message === COMPILED) return this.#beginCheck()
    if (message === READY) this.#isReady = true
    else this.#settle(message)
    this.#startNext()
  }

  /** The check has its own time limit: compiling slowly and checking slowly are different problems. */
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

  /** Many calls that each take the maximum time would leave no time for others, so the whole group is given up. */
  #settleHopeless({ group }: CheckJob): void {
    const shares = ({ job }: Pending): boolean => job.group === group || job.digest === group
    const hopeless = this.#waiting.filter(shares)
    this.#waiting.splice(0, Infinity, ...this.#waiting.filter((pending) => !shares(pending)))
    for (const { settle } of hopeless) settle({ kind: 'hopeless' })
  }

  /** If the thread was ready, it probably ran out of memory. If it never was ready, it cannot be started at all. */
  #onWorkerLost(worker: Worker, reason: string): void {
    if (worker !== this.#worker) return
    if (this.#isReady) return this.#exceed(`its thread was lost (${reason})`)
    this.#terminateWorker()
    for (const { settle } of this.#waiting.splice(0))
      settle({ kind: 'unchecked', why: `the thread for it failed: ${reason}` })
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

  #startTimer(timeMs: number, onTimeout: () => void): void {
    const timer = setTimeout(() => {
      // If the main thread was blocked, the answer may already be in the queue: it is handled before this callback.
      setImmediate(() => {
        if (timer === this.#timer) onTimeout()
      })
    }, timeMs)
    this.#timer = timer
  }

  #clearTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
