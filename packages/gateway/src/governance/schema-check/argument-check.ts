import { createHash } from 'node:crypto'
import {
  ALLOW,
  compilePlain,
  excerpt,
  type Json,
  type JsonObject,
  type PlainSchema,
  type Verdict,
  violationsText,
} from '@sallyport/core'
import type { Outcome } from './job.ts'
import { ThreadLane } from './thread-lane.ts'

export interface ArgumentCheckOptions {
  /** `schema-thread.js` as it was built: a thread cannot be started from the source, nor from what is joined. */
  readonly threadFile: string
  /** How long one check off the main thread may take, in milliseconds. */
  readonly budget?: number
  /** For how long a schema that took longer is not tried again. */
  readonly rest?: number
  readonly now?: () => number
}

interface KnownSchema {
  readonly plain: PlainSchema | undefined
  /** Made when the thread is needed for it. */
  sent?: { readonly digest: string; readonly text: string }
  /** Why no part of it can be checked. */
  unusable?: string
}

const BUDGET = 1_000
const REST = 60_000
const LARGE = 65_536
const MOST_CHARACTERS = 8_000_000
const LONGEST_WHY = 200
const REMEDY = 'If it stays so, the author of its server has to simplify the schema.'
const TOO_LONG = 'its input schema took too long to check a moment ago.'
const NO_ARGUMENTS: JsonObject = Object.freeze({})

/**
 * Models write null for what they leave out, and the protocol itself knows arguments that are null (their headers are
 * left out). What is not required and null is the server's to judge.
 */
function withoutUnsaid({ required }: JsonObject, args: JsonObject): JsonObject {
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  const said = Object.entries(args).filter(([name, value]) => value !== null || needed.includes(name))
  return said.length === Object.keys(args).length ? args : Object.fromEntries(said)
}

/**
 * Holds arguments against the schemas of their tools. Plain schemas are asked at once. All others, and values that would
 * take long, go to a thread that can be ended: whoever wrote a schema or a pattern must not be able to stop everybody.
 */
export class ArgumentCheck {
  readonly #lane: ThreadLane
  readonly #rest: number
  readonly #now: () => number
  readonly #known = new WeakMap<JsonObject, KnownSchema>()
  /** Schemas that took too long, and until when they are left alone. */
  readonly #resting = new Map<string, number>()

  constructor({ threadFile, budget = BUDGET, rest = REST, now = () => performance.now() }: ArgumentCheckOptions) {
    this.#lane = new ThreadLane({ threadFile, budget })
    this.#rest = rest
    this.#now = now
  }

  /** The verdict is there at once wherever it can be. A schema is known by its object: it must not be changed. */
  check(schema: JsonObject, args: JsonObject = NO_ARGUMENTS): Verdict | Promise<Verdict> {
    const verdict = this.#check(schema, args)
    if (verdict === ALLOW) return verdict
    const again = (first: Verdict): Verdict | Promise<Verdict> => {
      const said = first.outcome === 'deny' ? withoutUnsaid(schema, args) : args
      return said === args ? first : this.#check(schema, said)
    }
    return verdict instanceof Promise ? verdict.then(again) : again(verdict)
  }

  #check(schema: JsonObject, args: JsonObject): Verdict | Promise<Verdict> {
    const known = this.#known.get(schema) ?? this.#learn(schema)
    const fits = known.plain?.accepts(args)
    if (fits === true) return ALLOW
    if (fits === false) return invalid(violationsText(known.plain?.violations(args) ?? []))
    return known.unusable === undefined ? this.#checkAside(known, schema, args) : uncheckable(known.unusable)
  }

  /** What is wrong with any value by a schema of the operator's: what cannot be told is wrong too. */
  async flawIn(schema: JsonObject, value: Json): Promise<string | undefined> {
    const known = this.#known.get(schema) ?? this.#learn(schema)
    const fits = known.plain?.accepts(value)
    if (fits === true) return undefined
    if (fits === false) return violationsText(known.plain?.violations(value) ?? [])
    known.sent ??= sent(schema)
    const { digest, text } = known.sent
    const outcome = await this.#lane.run({
      digest,
      fate: `${digest} value`,
      schema: text,
      value: JSON.stringify(value),
    })
    if (outcome.kind === 'fits') return undefined
    return outcome.kind === 'violated' ? outcome.says : `it could not be checked (${outcome.kind})`
  }

  /** Why arguments cannot be checked by a schema, or not wholly. At once where it is plain. */
  schemaFlaw(schema: JsonObject): string | undefined | Promise<string | undefined> {
    const known = this.#known.get(schema) ?? this.#learn(schema)
    return known.plain === undefined ? this.#compileAside(known, schema) : undefined
  }

  async #compileAside(known: KnownSchema, schema: JsonObject): Promise<string | undefined> {
    known.sent ??= sent(schema)
    const { digest, text } = known.sent
    const job = { digest, fate: digest, schema: text }
    const first = await this.#lane.run(job)
    // A busy machine is no fault of the schema's.
    const outcome = first.kind === 'unusable' && first.final ? await this.#lane.run(job) : first
    if (outcome.kind !== 'unusable') return undefined
    if (outcome.final) known.unusable = outcome.why
    return outcome.why
  }

  close(): Promise<void> {
    return this.#lane.close()
  }

  #learn(schema: JsonObject): KnownSchema {
    const known = { plain: compilePlain(schema) }
    this.#known.set(schema, known)
    return known
  }

  async #checkAside(known: KnownSchema, schema: JsonObject, args: JsonObject): Promise<Verdict> {
    known.sent ??= sent(schema)
    const { digest, text } = known.sent
    const value = JSON.stringify(args)
    // What large arguments bring about is no reason to refuse small ones.
    const fate = value.length > LARGE ? `${digest} large` : digest
    if (this.#isResting(digest) || this.#isResting(fate)) return unchecked(`${TOO_LONG} ${REMEDY}`)
    if (value.length > MOST_CHARACTERS)
      return unchecked(`they have ${value.length} characters, and ${MOST_CHARACTERS} can be checked.`)
    const outcome = await this.#lane.run({ digest, fate, schema: text, value })
    if (outcome.kind === 'excess') this.#resting.set(fate, this.#now() + this.#rest)
    if (outcome.kind === 'unusable' && outcome.final) known.unusable = outcome.why
    return verdictOf(outcome)
  }

  #isResting(digest: string): boolean {
    const now = this.#now()
    for (const [other, until] of this.#resting) if (until <= now) this.#resting.delete(other)
    return this.#resting.has(digest)
  }
}

function sent(schema: JsonObject): { readonly digest: string; readonly text: string } {
  const text = JSON.stringify(schema)
  return { digest: createHash('sha256').update(text).digest('base64'), text }
}

function verdictOf(outcome: Outcome): Verdict {
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
      return unchecked(`${TOO_LONG} ${REMEDY}`)
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

const shown = (why: string): string => excerpt(why, LONGEST_WHY)
