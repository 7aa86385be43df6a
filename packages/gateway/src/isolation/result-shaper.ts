import {
  type Cancellation,
  cutText,
  type Era,
  type ErrorCode,
  findPreset,
  isJsonObject,
  type Json,
  type JsonObject,
  type Preset,
  READ_RESULT_TOOL,
  SallyportError,
  shapeText,
} from '@sallyport/core'
import { type ResultShelf, SHAPED_META, shapeToolResult, type ToolResult } from '@sallyport/kit'
import type { ModelSettings, Settings } from '../config/config.ts'
import { type Frame, parseFrame, scanFrame } from '../upstream/upstream.ts'
import { withIntent } from './intent.ts'
import type { IsolatedCall, IsolatedOutcome, IsolatedReply, ModelUsage } from './isolated-call.ts'
import type { IsolationPlan } from './isolation-plan.ts'
import { resolveExecutor } from './mcp-executor.ts'
import type { ModelEngine } from './model-engine.ts'
import { detachStructure, findRawStructure } from './raw-structure.ts'
import { onlyText } from './result-text.ts'
import { runIsolated } from './run-isolated.ts'
import type { RunParts } from './run-parts.ts'
import { isQuarantined, type ShapingRules } from './shaping-rules.ts'

/** Whose call it was. */
export interface ResultOwner {
  readonly user: string
  readonly session: string
}

/** A result of a tool on its way back. */
export interface UnshapedResult
  extends Pick<IsolatedCall, 'server' | 'definition' | 'args' | 'intent' | 'isReadOnly' | 'recall'> {
  readonly owner: ResultOwner
  readonly rules: ShapingRules
  /** Its caller has the tool that reads saved results. */
  readonly canPage: boolean
  readonly frame: Frame
  readonly cancellation: Cancellation
}

/** One whose structured content was not parsed: these are its bytes. */
interface UnparsedResult extends UnshapedResult {
  readonly written?: Buffer | undefined
}

/** What a server said, and how it speaks. */
export interface ServerResult {
  readonly frame: Frame
  readonly era: Era
}

export interface ResultShaperOptions {
  readonly settings: () => Pick<Settings, 'isolation' | 'executor' | 'context'>
  readonly shelfOf: (owner: ResultOwner) => ResultShelf
  readonly findValueProblem: RunParts['findValueProblem']
  readonly createEngine: (model: ModelSettings) => ModelEngine
  readonly newId: () => string
}

export type ShapedResult = { readonly facts: ShapingFacts } & (
  | { readonly kind: 'frame'; readonly frame: Frame }
  /** `meta`: what its caller is told of the run. */
  | { readonly kind: 'failure'; readonly error: SallyportError; readonly meta: JsonObject }
)

/** Stands above what a model wrote itself. */
const MODEL_LINE = '[Written by a model, not by the tool.]'

/** Nobody waits, or somebody has to decide: a bounded result would hide it. */
const NEVER_BOUNDED: readonly string[] = ['CALL_CANCELLED', 'EXECUTOR_MISSING']

/** Decides what of a result goes back to its caller. The whole is kept first. */
export class ResultShaper {
  readonly #options: ResultShaperOptions
  readonly #engines = new WeakMap<ModelSettings, ModelEngine>()

  constructor(options: ResultShaperOptions) {
    this.#options = options
  }

  /** Whether a result goes back as it is: nearly all do, and this is all that it costs them. */
  isWhole({ plan, preset }: ShapingRules, { frame: { envelope }, era }: ServerResult): boolean {
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
  shapeFailure({ plan }: ShapingRules, error: SallyportError): SallyportError {
    return isQuarantined(plan) ? withoutQuotedText(error) : error
  }

  async shape(call: UnshapedResult): Promise<ShapedResult> {
    const { plan } = call.rules
    const apart =
      plan && asksModel(plan) ? undefined : detachStructure(call.frame, this.#presetFor(call.rules).threshold)
    const message = apart?.message ?? parseFrame(call.frame)
    if (plan && isQuarantined(plan)) return this.#quarantine(call, message, plan)
    if (call.frame.envelope.result === undefined) return this.#shapeError(call, message.error)
    const result = normalizeResult(message.result)
    const run: ShapingRun = { ...NO_USAGE, strategy: plan?.strategy ?? 'shaped' }
    // What went wrong the caller has to know itself.
    const isForModel = plan && asksModel(plan) && !isTask(result) && !call.frame.envelope.isError
    return isForModel
      ? this.#askModel(call, result, plan)
      : this.#bound({ ...call, written: apart?.written }, result, run)
  }

  /** What a server says in place of a result is a text of its own too. */
  async #shapeError(call: UnshapedResult, error: Json | undefined): Promise<ShapedResult> {
    const handle = await this.#storeResult(call, { error: error ?? null })
    const run: ShapingRun = { ...NO_USAGE, strategy: call.rules.plan?.strategy ?? 'shaped', handle }
    return sent(call, { error: shortenError(error, describeStored(call, handle)) }, run)
  }

  /** Texts cut by their kind, with a handle to the whole; the very same frame where all of it fits. */
  async #bound(call: UnparsedResult, result: JsonObject, run: ShapingRun): Promise<ShapedResult> {
    const written = call.written ?? findRawStructure(call.frame, result, this.#presetFor(call.rules).threshold)
    const shaped = await this.#shapeTexts(call, result, written)
    // That a strategy failed is told also where all of the result fits: nothing goes back past it in silence.
    if (shaped === result && run.failure === undefined) return unchanged(call, run)
    return this.#changed(call, shaped, { ...run, handle: handleIn(shaped) })
  }

  async #shapeTexts(call: UnshapedResult, result: JsonObject, written?: string | Buffer): Promise<JsonObject> {
    const shaped = await shapeToolResult(result as unknown as ToolResult, {
      preset: this.#presetFor(call.rules),
      ...(written !== undefined && { writtenStructure: written }),
      openShelf: () => this.#options.shelfOf(call.owner),
      tool: call.definition.name,
      sayRest: ({ handle }) => describeWhole(call, handle),
    })
    return shaped as unknown as JsonObject
  }

  /** A preset of its own, but never more than the budget of an isolated tool and the cap. */
  #presetFor({ plan, preset }: Pick<ShapingRules, 'plan' | 'preset'>): Preset {
    const { cap, presets } = this.#options.settings().context
    const most = Math.min(cap ?? Number.POSITIVE_INFINITY, plan?.budget ?? Number.POSITIVE_INFINITY)
    const chosen = preset ?? (plan ? findPreset('default', presets) : createCapPreset(cap, presets))
    const isOwnSize = preset !== undefined || plan === undefined
    return isOwnSize && chosen.threshold <= most ? chosen : { ...chosen, threshold: most }
  }

  async #askModel(call: UnshapedResult, result: JsonObject, plan: IsolationPlan): Promise<ShapedResult> {
    const { reply, facts } = await this.#run(call, result, plan)
    const run: ShapingRun = { ...facts, strategy: plan.strategy }
    if (reply instanceof SallyportError) {
      if (mayBound(plan, reply)) return this.#bound(call, result, { ...run, failure: reply })
      return this.#failure(call, reply, { ...run, handle: await this.#storeResult(call, result) })
    }
    if (reply.kind === 'received') return this.#bound(call, result, run)
    if (reply.kind === 'result') {
      const shaped = await this.#shapeTexts(call, normalizeResult(reply.result))
      return this.#changed(call, shaped, { ...run, handle: handleIn(shaped) })
    }
    const told = { ...run, handle: await this.#storeResult(call, result), writtenBy: reply.writtenBy }
    return this.#changed(call, this.#textResult(call, reply, told), told)
  }

  /** Words of a model, or a part of the result: within the budget, with the author and the way to the whole. */
  #textResult(call: UnshapedResult, { text, isError, writtenBy }: TextReply, { handle }: ShapingRun): JsonObject {
    const lead = writtenBy === 'model' ? `${MODEL_LINE}\n` : ''
    const foot = `[${describeStored(call, handle)}]`
    const preset = this.#presetFor(call.rules)
    const threshold = preset.threshold - lead.length - foot.length
    const shown = shapeText(text, { ...preset, threshold }, { rest: 'The rest of it was left out.' })
    return textResult(call, `${lead}${shown.text}`, { isError, foot })
  }

  /**
   * Only a value that validates crosses back, and no words: neither a server's nor a model's, and no handle by which
   * the caller could read them (ISO-11, ISO-16). So nothing is kept.
   */
  async #quarantine(call: UnshapedResult, message: JsonObject, plan: IsolationPlan): Promise<ShapedResult> {
    const { envelope } = call.frame
    const run: ShapingRun = { ...NO_USAGE, strategy: plan.strategy }
    const result = normalizeResult(message.result)
    const isFailed = envelope.result === undefined || envelope.isError || envelope.resultType === 'input_required'
    if (isFailed) return this.#failure(call, withheldError(), run)
    if (isTask(result)) return sent(call, { result: stripTask(result) }, run)
    const { reply, facts } = await this.#run(call, result, plan)
    const used = { ...run, ...facts }
    if (reply instanceof SallyportError) return this.#failure(call, reply, used)
    if (reply.kind !== 'text') return this.#failure(call, withheldError(), used)
    const { threshold } = this.#presetFor(call.rules)
    if (reply.text.length > threshold) return this.#failure(call, valueTooLarge(reply.text.length, threshold), used)
    return this.#changed(call, textResult(call, reply.text), { ...used, writtenBy: reply.writtenBy })
  }

  /** Nothing where it could not be kept: the answer is still of use. */
  async #storeResult({ owner, definition }: UnshapedResult, result: JsonObject): Promise<string | undefined> {
    try {
      const saved = await this.#options.shelfOf(owner).save(toFullText(result), { tool: definition.name })
      return saved.handle
    } catch {
      return undefined
    }
  }

  #run(call: UnshapedResult, result: JsonObject, plan: IsolationPlan): Promise<IsolatedOutcome> {
    const leaving = new AbortController()
    call.cancellation.onCancel((reason) => leaving.abort(reason))
    const { findValueProblem, settings } = this.#options
    return runIsolated({
      call: { ...call, result, plan, signal: leaving.signal },
      parts: { findValueProblem, engine: this.#engineFor(plan) },
      executor: resolveExecutor(settings().executor),
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

  #changed(call: UnshapedResult, result: JsonObject, run: ShapingRun): ShapedResult {
    const bytesIn = call.frame.envelope.bytes
    return sent(call, { result: markResult(result, run, { runId: this.#options.newId(), bytesIn }) }, run)
  }

  #failure({ frame }: UnshapedResult, error: SallyportError, run: ShapingRun): ShapedResult {
    const sizes = { bytesIn: frame.envelope.bytes, bytesOut: 0 }
    const meta = isolationMeta(run, { runId: this.#options.newId(), ...sizes })
    return { kind: 'failure', error, meta, facts: toShapingFacts(run, sizes) }
  }
}

function sent(call: UnshapedResult, message: JsonObject, run: ShapingRun): ShapedResult {
  const frame = scanFrame([Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, ...message }))])
  const bytesIn = call.frame.envelope.bytes
  return { kind: 'frame', frame, facts: toShapingFacts(run, { bytesIn, bytesOut: frame.envelope.bytes }) }
}

/** The frame goes back as the bytes that came. */
function unchanged({ frame }: UnshapedResult, run: ShapingRun): ShapedResult {
  const { bytes } = frame.envelope
  return { kind: 'frame', frame, facts: toShapingFacts(run, { bytesIn: bytes, bytesOut: bytes }) }
}

const asksModel = ({ strategy }: IsolationPlan): boolean => strategy === 'extract' || strategy === 'agent'

const mayBound = (plan: IsolationPlan, { code }: SallyportError): boolean =>
  plan.fallback === 'bounded' && !NEVER_BOUNDED.includes(code)

const describeWhole = ({ canPage }: UnshapedResult, handle: string): string =>
  canPage
    ? `The whole: ${READ_RESULT_TOOL} with handle ${handle}.`
    : `The whole is kept as ${handle}; this agent was not given ${READ_RESULT_TOOL}.`

const describeStored = (call: UnshapedResult, handle: string | undefined): string =>
  handle === undefined ? 'The whole could not be kept, and is lost.' : describeWhole(call, handle)

/** The cap alone knows nothing of tokens: what is over it is shown as far as it goes. */
function createCapPreset(cap: number | undefined, presets: Settings['context']['presets']): Preset {
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
function textResult({ frame }: UnshapedResult, text: string, { isError = false, foot }: TextAround = {}): JsonObject {
  const { resultType } = frame.envelope
  const texts = foot === undefined ? [text] : [text, foot]
  return {
    ...(resultType !== undefined && { resultType }),
    content: texts.map((one) => ({ type: 'text', text: one })),
    ...(isError && { isError: true }),
  }
}

/** So much of what a server says of its own failure is repeated. */
const MAX_MESSAGE_LENGTH = 1_000
const UNKNOWN_ERROR = -32_603

/** An error of a server that is too long, with what it says as far as that is usual. */
function shortenError(error: Json | undefined, rest: string): JsonObject {
  const { code, message } = isJsonObject(error) ? error : {}
  const said = typeof message === 'string' ? message : JSON.stringify(message ?? error ?? null)
  return {
    code: Number.isSafeInteger(code) ? (code as number) : UNKNOWN_ERROR,
    message: `${cutText(said, MAX_MESSAGE_LENGTH)} [Cut by the gateway. ${rest}]`,
    data: { [SHAPED_META]: `Left out. ${rest}` },
  }
}

/** Errors whose every word is ours. */
const OWN_MESSAGE_CODES: readonly ErrorCode[] = [
  'ISOLATION_FAILED',
  'ISOLATION_LIMIT',
  'EXECUTOR_MISSING',
  'CALL_CANCELLED',
  'AUDIT_UNAVAILABLE',
  'INTERNAL',
]

/** The same error, without words of a server or a provider that it may quote. */
export function withoutQuotedText(error: SallyportError): SallyportError {
  const { code } = error
  if (OWN_MESSAGE_CODES.includes(code)) return error
  const hint = code === 'MODEL_UNAVAILABLE' ? error.hint : '`sallyport explain` tells the operator more.'
  return new SallyportError(code, 'The call failed, and what was said of that is withheld.', {
    hint: `Only values of the schema in isolation.returns go back. ${hint}`,
  })
}

/** Where only values that validate may cross, a server's own words of what went wrong do not (ISO-11). */
const withheldError = (): SallyportError =>
  new SallyportError('ISOLATION_FAILED', 'The tool gave no result, and what it says of that is withheld.', {
    hint: 'Only values of the schema in isolation.returns go back. `sallyport explain` tells the operator more.',
  })

/** A value that is cut is no longer one that validates. */
const valueTooLarge = (length: number, budget: number): SallyportError =>
  new SallyportError('ISOLATION_LIMIT', `The value has ${length} characters; ${budget} may go back.`, {
    hint: 'Raise isolation.budget, or set limits such as maxLength and maxItems in isolation.returns.',
  })

/** What is no result of a tool is shown as the JSON that it is: it must not pass by being wrong. */
function normalizeResult(result: Json | undefined): JsonObject {
  const isOne = isJsonObject(result) && (result.content === undefined || isBlockList(result.content))
  if (isOne) return result.content === undefined ? { ...result, content: [] } : result
  return { content: [{ type: 'text', text: JSON.stringify(result ?? null) }] }
}

const isBlockList = (content: Json): boolean => Array.isArray(content) && content.every(isJsonObject)

/** What is kept of a result: its text where it is nothing else. */
const toFullText = (result: JsonObject): string => onlyText(result) ?? JSON.stringify(result)

/** Under which the first of what was left out is kept. */
function handleIn({ _meta }: JsonObject): string | undefined {
  const facts = ((_meta as JsonObject | undefined)?.[SHAPED_META] as JsonObject | undefined)?.results
  const first = Array.isArray(facts) ? (facts[0] as JsonObject | undefined) : undefined
  return typeof first?.handle === 'string' ? first.handle : undefined
}

/** What a task tells of itself without a word of the server's: its id, its state, and when to ask again. */
export function stripTask(result: JsonObject): JsonObject {
  const { task } = result
  return isJsonObject(task) ? { task: stripFields(task) } : stripFields(result)
}

const stripFields = (task: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(task).filter(([key, value]) => TASK_FIELDS.has(key) && isPlainToken(value)))

const TASK_FIELDS: ReadonlySet<string> = new Set([
  ...['taskId', 'status', 'resultType', 'createdAt', 'lastUpdatedAt'],
  ...['ttl', 'ttlMs', 'pollInterval', 'pollIntervalMs'],
])

/** No sentence, whatever its key. */
const isPlainToken = (value: Json | undefined): boolean =>
  value === null || typeof value === 'number' || (typeof value === 'string' && /^[\w.:+/=-]{1,128}$/.test(value))

/** The result is still to come: this says only of which task. */
const isTask = ({ content, structuredContent, task, taskId }: JsonObject): boolean =>
  (content === undefined || (Array.isArray(content) && content.length === 0)) &&
  structuredContent === undefined &&
  (typeof taskId === 'string' || isJsonObject(task))

/** How that came about which goes back to the caller. */
interface ShapingRun extends ModelUsage {
  /** `shaped`: by a preset or the cap alone. */
  readonly strategy: IsolationPlan['strategy'] | 'shaped'
  /** By which the whole can be read. */
  readonly handle?: string | undefined
  /** Whose words go back, where that is not the result as it is. */
  readonly writtenBy?: 'model' | 'tool'
  /** Why a bounded result is all that there is. */
  readonly failure?: SallyportError | undefined
}

/** What became of a result, for its record. */
export interface ShapingFacts extends ModelUsage, Pick<ShapingRun, 'strategy'> {
  readonly bytesIn: number
  readonly bytesOut: number
  /** Estimated: what the caller's model does not have to read. */
  readonly tokensKept: number
  readonly handle: string | undefined
  readonly fellBack: string | undefined
}

const NO_USAGE: ModelUsage = Object.freeze({ turns: 0, tokensIn: 0, tokensOut: 0 })

const ISOLATION_META = 'sallyport/isolation'
const BYTES_PER_TOKEN = 4

function toShapingFacts(
  { failure, handle, strategy, turns, tokensIn, tokensOut }: ShapingRun,
  { bytesIn, bytesOut }: Pick<ShapingFacts, 'bytesIn' | 'bytesOut'>,
): ShapingFacts {
  const tokensKept = Math.max(0, Math.round((bytesIn - bytesOut) / BYTES_PER_TOKEN))
  const used = { strategy, turns, tokensIn, tokensOut }
  return { ...used, bytesIn, bytesOut, tokensKept, handle, fellBack: failure?.code }
}

/** What the caller is told of the run; of shaping alone the kit has told it. */
function markResult(
  result: JsonObject,
  run: ShapingRun,
  { runId, bytesIn }: { readonly runId: string; readonly bytesIn: number },
): JsonObject {
  if (run.strategy === 'shaped') return result
  const bytesOut = Buffer.byteLength(JSON.stringify(result))
  const told = isolationMeta(run, { runId, bytesIn, bytesOut })
  return { ...result, _meta: { ...(result._meta as JsonObject | undefined), ...told } }
}

interface RunSizes extends Pick<ShapingFacts, 'bytesIn' | 'bytesOut'> {
  readonly runId: string
}

/** The part of `_meta` that tells of a run, also of one that failed. */
function isolationMeta(run: ShapingRun, { runId, bytesIn, bytesOut }: RunSizes): JsonObject {
  return {
    [ISOLATION_META]: {
      run_id: runId,
      strategy: run.strategy,
      ...(run.failure && { fell_back: run.failure.text }),
      ...(run.writtenBy !== undefined && { written_by: run.writtenBy }),
      turns: run.turns,
      tokens_in: run.tokensIn,
      tokens_out: run.tokensOut,
      bytes_in: bytesIn,
      bytes_out: bytesOut,
      ...(run.handle !== undefined && { handle: run.handle }),
    },
  }
}

/**
 * A tool as its callers see it: with what they may ask of its results, and without an output schema where these may
 * be cut. Such a schema promises structured content in every result, and clients throw away one that lacks it (ISO-17).
 */
export function shownTool(definition: JsonObject, { takesIntent, mayCut }: ShapingRules): JsonObject {
  const asking = takesIntent ? withIntent(definition) : definition
  if (!mayCut || asking.outputSchema === undefined) return asking
  const { outputSchema: _promised, ...shown } = asking
  return shown
}
