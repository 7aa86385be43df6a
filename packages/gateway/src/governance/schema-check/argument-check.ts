import { createHash } from 'node:crypto'
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
import type { JobOutcome } from './job.ts'
import { WorkerQueue } from './thread-lane.ts'

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
