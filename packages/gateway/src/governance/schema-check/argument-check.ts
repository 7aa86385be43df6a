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
  /** `schema-thread.js` as it was built: a thread cannot be started from the source, nor from what is joined. */
  readonly threadFile: string
  /** How long one check off the main thread may take, in milliseconds. */
  readonly budget?: number
  /** For how long a schema that took longer is not tried again. */
  readonly cooldown?: number
  readonly now?: () => number
}

interface KnownSchema {
  readonly plain: SchemaValidator | undefined
  /** Made when the thread is needed for it. */
  serialized?: { readonly digest: string; readonly text: string }
  /** Why no part of it can be checked. */
  unusable?: string
}

const DEFAULT_BUDGET_MS = 1_000
const DEFAULT_COOLDOWN_MS = 60_000
const LARGE = 65_536
const MAX_CHARACTERS = 8_000_000
const MAX_REASON_LENGTH = 200
const REMEDY = 'If it stays so, the author of its server has to simplify the schema.'
const TIMED_OUT = 'its input schema took too long to check a moment ago.'
const NO_ARGUMENTS: JsonObject = Object.freeze({})

/**
 * Models write null for what they leave out, and the protocol itself knows arguments that are null (their headers are
 * left out). What is not required and null is the server's to judge.
 */
function dropOptionalNulls({ required }: JsonObject, args: JsonObject): JsonObject {
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  const said = Object.entries(args).filter(([name, value]) => value !== null || needed.includes(name))
  return said.length === Object.keys(args).length ? args : Object.fromEntries(said)
}

/**
 * Holds arguments against the schemas of their tools. Plain schemas are asked at once. All others, and values that would
 * take long, go to a thread that can be ended: whoever wrote a schema or a pattern must not be able to stop everybody.
 */
export class ArgumentCheck {
  readonly #queue: WorkerQueue
  readonly #cooldown: number
  readonly #now: () => number
  readonly #known = new WeakMap<JsonObject, KnownSchema>()
  /** Schemas that took too long, and until when they are left alone. */
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

  /** The verdict is there at once wherever it can be. A schema is known by its object: it must not be changed. */
  check(schema: JsonObject, args: JsonObject = NO_ARGUMENTS): Verdict | Promise<Verdict> {
    const verdict = this.#check(schema, args)
    if (verdict === ALLOW) return verdict
    const again = (first: Verdict): Verdict | Promise<Verdict> => {
      const said = first.outcome === 'deny' ? dropOptionalNulls(schema, args) : args
      return said === args ? first : this.#check(schema, said)
    }
    return verdict instanceof Promise ? verdict.then(again) : again(verdict)
  }

  #check(schema: JsonObject, args: JsonObject): Verdict | Promise<Verdict> {
    const known = this.#known.get(schema) ?? this.#compile(schema)
    const fits = known.plain?.accepts(args)
    if (fits === true) return ALLOW
    if (fits === false) return invalid(formatViolations(known.plain?.violations(args) ?? []))
    return known.unusable === undefined ? this.#checkInWorker(known, schema, args) : uncheckable(known.unusable)
  }

  /** What is wrong with any value by a schema of the operator's: what cannot be told is wrong too. */
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
    return outcome.kind === 'violated' ? outcome.says : `it could not be checked (${outcome.kind})`
  }

  /** Why arguments cannot be checked by a schema, or not wholly. At once where it is plain. */
  findSchemaProblem(schema: JsonObject): string | undefined | Promise<string | undefined> {
    const known = this.#known.get(schema) ?? this.#compile(schema)
    return known.plain === undefined ? this.#compileInWorker(known, schema) : undefined
  }

  async #compileInWorker(known: KnownSchema, schema: JsonObject): Promise<string | undefined> {
    known.serialized ??= serializeSchema(schema)
    const { digest, text } = known.serialized
    const job = { digest, group: digest, schema: text }
    const first = await this.#queue.run(job)
    // A busy machine is no fault of the schema's.
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
    // What large arguments bring about is no reason to refuse small ones.
    const group = value.length > LARGE ? `${digest} large` : digest
    if (this.#isCoolingDown(digest) || this.#isCoolingDown(group)) return unchecked(`${TIMED_OUT} ${REMEDY}`)
    if (value.length > MAX_CHARACTERS)
      return unchecked(`they have ${value.length} characters, and ${MAX_CHARACTERS} can be checked.`)
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
      return invalid(outcome.says)
    case 'unusable':
      return uncheckable(outcome.why)
    case 'excess':
      return unchecked(`with its input schema that takes more than it may (${shown(outcome.why)}). ${REMEDY}`)
    case 'hopeless':
      return unchecked(`${TIMED_OUT} ${REMEDY}`)
    case 'unchecked':
      return unchecked(`${shown(outcome.why)}.`)
    case 'crowded':
      return { outcome: 'deny', code: 'OVERLOADED', reason: 'Too many calls wait for their arguments to be checked.' }
  }
}

const invalid = (says: string): Verdict => ({
  outcome: 'deny',
  code: 'ARGUMENTS_INVALID',
  reason: `The arguments do not match the input schema of the tool: ${says}.`,
})

/** Whatever could be checked is right. The rest a person has to look at. */
const uncheckable = (why: string): Verdict => ({
  outcome: 'ask',
  reason: `A person has to approve it: its arguments cannot be checked, since its input schema cannot be used (${shown(why)}).`,
})

/** Nobody knows whether the arguments are right, and whoever made it so may have meant to: the call is not made. */
const unchecked = (why: string): Verdict => ({
  outcome: 'deny',
  code: 'ARGUMENTS_UNCHECKED',
  reason: `The arguments of this tool could not be checked: ${why}`,
})

const shown = (why: string): string => excerpt(why, MAX_REASON_LENGTH)

interface WorkerQueueOptions {
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
class WorkerQueue {
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
