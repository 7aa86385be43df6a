import {
  type Cancellation,
  type Era,
  findPreset,
  type Json,
  type JsonObject,
  type Preset,
  READ_RESULT_TOOL,
  SallyportError,
  shapeText,
} from '@sallyport/core'
import { type ResultShelf, shapeToolResult, type ToolResult } from '@sallyport/kit'
import type { ModelSettings, Settings } from '../config/config.ts'
import { type Frame, frameOf, parseFrame } from '../upstream/upstream.ts'
import { boundedError, valueTooLarge, withheldError, withoutQuotes } from './bounded-error.ts'
import type { IsolatedCall, IsolatedOutcome, IsolatedReply } from './isolated-call.ts'
import type { IsolationPlan } from './isolation-plan.ts'
import { executorOf } from './mcp-executor.ts'
import type { ModelEngine } from './model-engine.ts'
import {
  isolationMeta,
  markResult,
  NOTHING_USED,
  type ReturnFacts,
  type ReturnRun,
  returnFacts,
} from './return-facts.ts'
import { isQuarantined, type ReturnRules } from './return-rules.ts'
import { runIsolated } from './run-isolated.ts'
import type { RunParts } from './run-parts.ts'
import { bareTask, handleIn, isTask, wellFormed, wholeText } from './whole-result.ts'
import { apartStructure, writtenStructure } from './written-structure.ts'

/** Whose call it was. */
export interface ResultOwner {
  readonly user: string
  readonly session: string
}

/** A result of a tool on its way back. */
export interface ReturnedCall
  extends Pick<IsolatedCall, 'server' | 'definition' | 'args' | 'intent' | 'isReadOnly' | 'recall'> {
  readonly owner: ResultOwner
  readonly rules: ReturnRules
  /** Its caller has the tool that reads saved results. */
  readonly canPage: boolean
  readonly frame: Frame
  readonly cancellation: Cancellation
}

/** One whose structured content was not parsed: these are its bytes. */
interface BoundCall extends ReturnedCall {
  readonly written?: Buffer | undefined
}

/** What a server said, and how it speaks. */
export interface SaidResult {
  readonly frame: Frame
  readonly era: Era
}

export interface ReturningOptions {
  readonly settings: () => Pick<Settings, 'isolation' | 'executor' | 'context'>
  readonly shelfOf: (owner: ResultOwner) => ResultShelf
  readonly flawIn: RunParts['flawIn']
  readonly createEngine: (model: ModelSettings) => ModelEngine
  readonly newId: () => string
}

export type Returned = { readonly facts: ReturnFacts } & (
  | { readonly kind: 'frame'; readonly frame: Frame }
  /** `meta`: what its caller is told of the run. */
  | { readonly kind: 'failure'; readonly error: SallyportError; readonly meta: JsonObject }
)

/** Stands above what a model wrote itself. */
const MODEL_LINE = '[Written by a model, not by the tool.]'

/** Nobody waits, or somebody has to decide: a bounded result would hide it. */
const NEVER_BOUNDED: readonly string[] = ['CALL_CANCELLED', 'EXECUTOR_MISSING']

/** Decides what of a result goes back to its caller. The whole is kept first. */
export class Returning {
  readonly #options: ReturningOptions
  readonly #engines = new WeakMap<ModelSettings, ModelEngine>()

  constructor(options: ReturningOptions) {
    this.#options = options
  }

  /** Whether a result goes back as it is: nearly all do, and this is all that it costs them. */
  isWhole({ plan, preset }: ReturnRules, { frame: { envelope }, era }: SaidResult): boolean {
    if (isQuarantined(plan)) return false
    // In the older era the word means nothing, and clients would show what stands beside it.
    if (envelope.resultType === 'input_required' && era === 'modern') return true
    if (plan?.strategy === 'exact') return true
    if (plan !== undefined && envelope.result !== undefined) return false
    const { cap = Number.POSITIVE_INFINITY } = this.#options.settings().context
    // A text has no more characters than its bytes are.
    return envelope.bytes <= Math.min(cap, preset?.threshold ?? cap, plan?.budget ?? cap)
  }

  /** A failure may quote a server's last words, the page that it sent in place of an answer, or what a provider says. */
  failureOf({ plan }: ReturnRules, error: SallyportError): SallyportError {
    return isQuarantined(plan) ? withoutQuotes(error) : error
  }

  async return(call: ReturnedCall): Promise<Returned> {
    const { plan } = call.rules
    const apart =
      plan && asksModel(plan) ? undefined : apartStructure(call.frame, this.#presetFor(call.rules).threshold)
    const message = apart?.message ?? parseFrame(call.frame)
    if (plan && isQuarantined(plan)) return this.#quarantine(call, message, plan)
    if (call.frame.envelope.result === undefined) return this.#refuse(call, message.error)
    const result = wellFormed(message.result)
    const run: ReturnRun = { ...NOTHING_USED, strategy: plan?.strategy ?? 'shaped' }
    // What went wrong the caller has to know itself.
    const isForModel = plan && asksModel(plan) && !isTask(result) && !call.frame.envelope.isError
    return isForModel ? this.#think(call, result, plan) : this.#bound({ ...call, written: apart?.written }, result, run)
  }

  /** What a server says in place of a result is a text of its own too. */
  async #refuse(call: ReturnedCall, error: Json | undefined): Promise<Returned> {
    const handle = await this.#keep(call, { error: error ?? null })
    const run: ReturnRun = { ...NOTHING_USED, strategy: call.rules.plan?.strategy ?? 'shaped', handle }
    return sent(call, { error: boundedError(error, sayKept(call, handle)) }, run)
  }

  /** Texts cut by their kind, with a handle to the whole; the very same frame where all of it fits. */
  async #bound(call: BoundCall, result: JsonObject, run: ReturnRun): Promise<Returned> {
    const written = call.written ?? writtenStructure(call.frame, result, this.#presetFor(call.rules).threshold)
    const shaped = await this.#shape(call, result, written)
    // That a strategy failed is told also where all of the result fits: nothing goes back past it in silence.
    if (shaped === result && run.failure === undefined) return unchanged(call, run)
    return this.#changed(call, shaped, { ...run, handle: handleIn(shaped) })
  }

  async #shape(call: ReturnedCall, result: JsonObject, written?: string | Buffer): Promise<JsonObject> {
    const shaped = await shapeToolResult(result as unknown as ToolResult, {
      preset: this.#presetFor(call.rules),
      ...(written !== undefined && { writtenStructure: written }),
      openShelf: () => this.#options.shelfOf(call.owner),
      tool: call.definition.name,
      sayRest: ({ handle }) => sayWhole(call, handle),
    })
    return shaped as unknown as JsonObject
  }

  /** A preset of its own, but never more than the budget of an isolated tool and the cap. */
  #presetFor({ plan, preset }: Pick<ReturnRules, 'plan' | 'preset'>): Preset {
    const { cap, presets } = this.#options.settings().context
    const most = Math.min(cap ?? Number.POSITIVE_INFINITY, plan?.budget ?? Number.POSITIVE_INFINITY)
    const chosen = preset ?? (plan ? findPreset('default', presets) : cappedOnly(cap, presets))
    const isOwnSize = preset !== undefined || plan === undefined
    return isOwnSize && chosen.threshold <= most ? chosen : { ...chosen, threshold: most }
  }

  async #think(call: ReturnedCall, result: JsonObject, plan: IsolationPlan): Promise<Returned> {
    const { reply, facts } = await this.#run(call, result, plan)
    const run: ReturnRun = { ...facts, strategy: plan.strategy }
    if (reply instanceof SallyportError) {
      if (mayBound(plan, reply)) return this.#bound(call, result, { ...run, failure: reply })
      return this.#failure(call, reply, { ...run, handle: await this.#keep(call, result) })
    }
    if (reply.kind === 'received') return this.#bound(call, result, run)
    if (reply.kind === 'result') {
      const shaped = await this.#shape(call, wellFormed(reply.result))
      return this.#changed(call, shaped, { ...run, handle: handleIn(shaped) })
    }
    const told = { ...run, handle: await this.#keep(call, result), writtenBy: reply.writtenBy }
    return this.#changed(call, this.#textResult(call, reply, told), told)
  }

  /** Words of a model, or a part of the result: within the budget, with the author and the way to the whole. */
  #textResult(call: ReturnedCall, { text, isError, writtenBy }: TextReply, { handle }: ReturnRun): JsonObject {
    const lead = writtenBy === 'model' ? `${MODEL_LINE}\n` : ''
    const foot = `[${sayKept(call, handle)}]`
    const preset = this.#presetFor(call.rules)
    const threshold = preset.threshold - lead.length - foot.length
    const shown = shapeText(text, { ...preset, threshold }, { rest: 'The rest of it was left out.' })
    return textResult(call, `${lead}${shown.text}`, { isError, foot })
  }

  /**
   * Only a value that validates crosses back, and no words: neither a server's nor a model's, and no handle by which
   * the caller could read them (ISO-11, ISO-16). So nothing is kept.
   */
  async #quarantine(call: ReturnedCall, message: JsonObject, plan: IsolationPlan): Promise<Returned> {
    const { envelope } = call.frame
    const run: ReturnRun = { ...NOTHING_USED, strategy: plan.strategy }
    const result = wellFormed(message.result)
    const isFailed = envelope.result === undefined || envelope.isError || envelope.resultType === 'input_required'
    if (isFailed) return this.#failure(call, withheldError(), run)
    if (isTask(result)) return sent(call, { result: bareTask(result) }, run)
    const { reply, facts } = await this.#run(call, result, plan)
    const used = { ...run, ...facts }
    if (reply instanceof SallyportError) return this.#failure(call, reply, used)
    if (reply.kind !== 'text') return this.#failure(call, withheldError(), used)
    const { threshold } = this.#presetFor(call.rules)
    if (reply.text.length > threshold) return this.#failure(call, valueTooLarge(reply.text.length, threshold), used)
    return this.#changed(call, textResult(call, reply.text), { ...used, writtenBy: reply.writtenBy })
  }

  /** Nothing where it could not be kept: the answer is still of use. */
  async #keep({ owner, definition }: ReturnedCall, result: JsonObject): Promise<string | undefined> {
    try {
      const saved = await this.#options.shelfOf(owner).save(wholeText(result), { tool: definition.name })
      return saved.handle
    } catch {
      return undefined
    }
  }

  #run(call: ReturnedCall, result: JsonObject, plan: IsolationPlan): Promise<IsolatedOutcome> {
    const leaving = new AbortController()
    call.cancellation.onCancel((reason) => leaving.abort(reason))
    const { flawIn, settings } = this.#options
    return runIsolated({
      call: { ...call, result, plan, signal: leaving.signal },
      parts: { flawIn, engine: this.#engineFor(plan) },
      executor: executorOf(settings().executor),
    })
  }

  /** The sub-agent may have a model of its own. */
  #engineFor({ strategy }: IsolationPlan): ModelEngine | undefined {
    const { isolation, executor } = this.#options.settings()
    const model = (strategy === 'agent' ? executor.model : undefined) ?? isolation.model
    if (model === undefined || isolation.engine === 'none') return undefined
    const engine = this.#engines.get(model) ?? this.#options.createEngine(model)
    this.#engines.set(model, engine)
    return engine
  }

  #changed(call: ReturnedCall, result: JsonObject, run: ReturnRun): Returned {
    const bytesIn = call.frame.envelope.bytes
    return sent(call, { result: markResult(result, run, { runId: this.#options.newId(), bytesIn }) }, run)
  }

  #failure({ frame }: ReturnedCall, error: SallyportError, run: ReturnRun): Returned {
    const sizes = { bytesIn: frame.envelope.bytes, bytesOut: 0 }
    const meta = isolationMeta(run, { runId: this.#options.newId(), ...sizes })
    return { kind: 'failure', error, meta, facts: returnFacts(run, sizes) }
  }
}

function sent(call: ReturnedCall, message: JsonObject, run: ReturnRun): Returned {
  const frame = frameOf([Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, ...message }))])
  const bytesIn = call.frame.envelope.bytes
  return { kind: 'frame', frame, facts: returnFacts(run, { bytesIn, bytesOut: frame.envelope.bytes }) }
}

/** The frame goes back as the bytes that came. */
function unchanged({ frame }: ReturnedCall, run: ReturnRun): Returned {
  const { bytes } = frame.envelope
  return { kind: 'frame', frame, facts: returnFacts(run, { bytesIn: bytes, bytesOut: bytes }) }
}

const asksModel = ({ strategy }: IsolationPlan): boolean => strategy === 'extract' || strategy === 'agent'

const mayBound = (plan: IsolationPlan, { code }: SallyportError): boolean =>
  plan.fallback === 'bounded' && !NEVER_BOUNDED.includes(code)

const sayWhole = ({ canPage }: ReturnedCall, handle: string): string =>
  canPage
    ? `The whole: ${READ_RESULT_TOOL} with handle ${handle}.`
    : `The whole is kept as ${handle}; this agent was not given ${READ_RESULT_TOOL}.`

const sayKept = (call: ReturnedCall, handle: string | undefined): string =>
  handle === undefined ? 'The whole could not be kept, and is lost.' : sayWhole(call, handle)

/** The cap alone knows nothing of tokens: what is over it is shown as far as it goes. */
function cappedOnly(cap: number | undefined, presets: Settings['context']['presets']): Preset {
  const base = findPreset('default', presets)
  const threshold = cap ?? Number.MAX_SAFE_INTEGER
  return { ...base, threshold, previewTokens: Math.ceil(threshold / 2), fills: true }
}

type TextReply = Extract<IsolatedReply, { readonly kind: 'text' }>

interface TextAround {
  readonly isError?: boolean
  /** Not every agent shows its model what is in _meta. */
  readonly foot?: string
}

/** A text that goes back in place of the result. */
function textResult({ frame }: ReturnedCall, text: string, { isError = false, foot }: TextAround = {}): JsonObject {
  const { resultType } = frame.envelope
  const texts = foot === undefined ? [text] : [text, foot]
  return {
    ...(resultType !== undefined && { resultType }),
    content: texts.map((one) => ({ type: 'text', text: one })),
    ...(isError && { isError: true }),
  }
}
