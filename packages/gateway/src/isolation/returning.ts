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
import { boundedError, withheldError, withoutQuotes } from './bounded-error.ts'
import type { IsolatedCall, IsolatedOutcome, IsolatedReply } from './isolated-call.ts'
import type { IsolationPlan } from './isolation-plan.ts'
import { executorOf } from './mcp-executor.ts'
import type { ModelEngine } from './model-engine.ts'
import { markResult, NOTHING_USED, type ReturnFacts, type ReturnRun, returnFacts } from './return-facts.ts'
import type { ReturnRules } from './return-rules.ts'
import { runIsolated } from './run-isolated.ts'
import type { RunParts } from './run-parts.ts'
import { handleIn, isTask, wellFormed, wholeText } from './whole-result.ts'
import { writtenStructure } from './written-structure.ts'

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
  | { readonly kind: 'failure'; readonly error: SallyportError }
)

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
    // In the older era the word means nothing, and clients would show what stands beside it.
    if (envelope.resultType === 'input_required' && era === 'modern') return true
    if (plan?.strategy === 'exact') return true
    if (plan !== undefined && (envelope.result !== undefined || isClosed(plan))) return false
    const { cap = Number.POSITIVE_INFINITY } = this.#options.settings().context
    // A text has no more characters than its bytes are.
    return envelope.bytes <= Math.min(cap, preset?.threshold ?? cap)
  }

  /** A failure on the way to a server may quote its last words, or the page that it sent in place of an answer. */
  failureOf({ plan }: ReturnRules, error: SallyportError): SallyportError {
    return isClosed(plan) && error.code.startsWith('UPSTREAM_') ? withoutQuotes(error) : error
  }

  async return(call: ReturnedCall): Promise<Returned> {
    const message = parseFrame(call.frame)
    if (call.frame.envelope.result === undefined) return this.#refuse(call, message.error)
    const result = wellFormed(message.result)
    const { plan } = call.rules
    const run: ReturnRun = { ...NOTHING_USED, strategy: plan?.strategy ?? 'shaped' }
    if (plan && asksModel(plan) && !isTask(result)) return this.#think(call, result, plan)
    return this.#bound(call, result, run)
  }

  /** What a server says in place of a result is a text of its own too. */
  async #refuse(call: ReturnedCall, error: Json | undefined): Promise<Returned> {
    const { plan } = call.rules
    const handle = await this.#keep(call, { error: error ?? null })
    const run: ReturnRun = { ...NOTHING_USED, strategy: plan?.strategy ?? 'shaped', handle }
    const rest = sayKept(call, handle)
    return isClosed(plan)
      ? failure(call, withheldError(rest), run)
      : sent(call, { error: boundedError(error, rest) }, run)
  }

  /** Texts cut by their kind, with a handle to the whole; the very same frame where all of it fits. */
  async #bound(call: ReturnedCall, result: JsonObject, run: ReturnRun): Promise<Returned> {
    const preset = this.#presetFor(call.rules)
    const written = writtenStructure(call.frame, result, preset.threshold)
    const shaped = await shapeToolResult(result as unknown as ToolResult, {
      preset,
      ...(written !== undefined && { writtenStructure: written }),
      openShelf: () => this.#options.shelfOf(call.owner),
      tool: call.definition.name,
      sayRest: ({ handle }) => sayWhole(call, handle),
    })
    const isSame = (shaped as unknown) === result
    // That a strategy failed is told also where all of the result fits: nothing goes back past it in silence.
    if (isSame && run.failure === undefined) return unchanged(call, run)
    return this.#changed(call, shaped as unknown as JsonObject, { ...run, handle: handleIn(shaped) })
  }

  /** A preset of its own, but never more than the cap. */
  #presetFor({ plan, preset }: Pick<ReturnRules, 'plan' | 'preset'>): Preset {
    const { cap, presets } = this.#options.settings().context
    const chosen = preset ?? (plan ? findPreset('default', presets) : cappedOnly(cap, presets))
    return cap === undefined || chosen.threshold <= cap ? chosen : { ...chosen, threshold: cap }
  }

  async #think(call: ReturnedCall, result: JsonObject, plan: IsolationPlan): Promise<Returned> {
    const { strategy } = plan
    const hasFailed = call.frame.envelope.isError
    // What went wrong the caller has to know itself, unless no words of the server's may reach it.
    if (hasFailed && !isClosed(plan)) return this.#bound(call, result, { ...NOTHING_USED, strategy })
    if (hasFailed) return this.#withhold(call, result, { ...NOTHING_USED, strategy })
    const { reply, facts } = await this.#run(call, result, plan)
    if (reply instanceof SallyportError && mayBound(plan, reply))
      return this.#bound(call, result, { ...facts, strategy, failure: reply })
    if (!(reply instanceof SallyportError) && reply.kind === 'received') return unchanged(call, { ...facts, strategy })
    const run = { ...facts, strategy, handle: await this.#keep(call, result) }
    if (reply instanceof SallyportError) return failure(call, reply, run)
    return this.#changed(call, this.#inCap(replyResult(call, reply, run), reply), run)
  }

  async #withhold(call: ReturnedCall, result: JsonObject, run: ReturnRun): Promise<Returned> {
    const handle = await this.#keep(call, result)
    return failure(call, withheldError(sayKept(call, handle)), { ...run, handle })
  }

  /** A model that says too much is cut as a tool is. */
  #inCap(result: JsonObject, reply: IsolatedReply): JsonObject {
    const { cap } = this.#options.settings().context
    if (reply.kind !== 'text' || cap === undefined || reply.text.length <= cap) return result
    const rest = 'The rest of the answer was not kept.'
    const { text } = shapeText(reply.text, this.#presetFor({ plan: undefined, preset: undefined }), { rest })
    return { ...result, content: [{ type: 'text', text }] }
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
}

function sent(call: ReturnedCall, message: JsonObject, run: ReturnRun): Returned {
  const frame = frameOf([Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, ...message }))])
  const bytesIn = call.frame.envelope.bytes
  return { kind: 'frame', frame, facts: returnFacts(run, { bytesIn, bytesOut: frame.envelope.bytes }) }
}

function failure(call: ReturnedCall, error: SallyportError, run: ReturnRun): Returned {
  return { kind: 'failure', error, facts: returnFacts(run, { bytesIn: call.frame.envelope.bytes, bytesOut: 0 }) }
}

/** The frame goes back as the bytes that came. */
function unchanged({ frame }: ReturnedCall, run: ReturnRun): Returned {
  const { bytes } = frame.envelope
  return { kind: 'frame', frame, facts: returnFacts(run, { bytesIn: bytes, bytesOut: bytes }) }
}

/** Only values of a schema cross back, and no words: a bounded result or an error would be the way around it (ISO-11). */
const isClosed = (plan: IsolationPlan | undefined): boolean => plan?.returns !== undefined && asksModel(plan)

const asksModel = ({ strategy }: IsolationPlan): boolean => strategy === 'extract' || strategy === 'agent'

const mayBound = (plan: IsolationPlan, { code }: SallyportError): boolean =>
  plan.fallback === 'bounded' && !isClosed(plan) && !NEVER_BOUNDED.includes(code)

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
  return { ...base, threshold, previewTokens: Math.ceil(threshold / 2) }
}

/** What goes back in place of the result. */
function replyResult(
  call: ReturnedCall,
  reply: Exclude<IsolatedReply, { readonly kind: 'received' }>,
  { strategy, handle }: ReturnRun,
): JsonObject {
  if (reply.kind === 'result') return reply.result
  const { resultType } = call.frame.envelope
  // Not every agent shows its model what stands in _meta. A value of a schema stands alone.
  const isAnswer = strategy === 'extract' && !isClosed(call.rules.plan)
  const whole = isAnswer && handle !== undefined ? [{ type: 'text', text: `[${sayWhole(call, handle)}]` }] : []
  return {
    ...(resultType !== undefined && { resultType }),
    content: [{ type: 'text', text: reply.text }, ...whole],
    ...(reply.isError && { isError: true }),
  }
}
