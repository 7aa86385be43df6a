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
import { type ResultStore, SHAPED_META, shapeToolResult, type ToolResult } from '@sallyport/kit'
import type { ModelSettings, Settings } from '../config/config.ts'
import { type Frame, parseFrame, scanFrame } from '../upstream/upstream.ts'
import type { Audience } from './audience.ts'
import type { IsolatedCall, IsolatedOutcome, IsolatedReply, ModelUsage } from './isolated-call.ts'
import type { IsolationPlan } from './isolation-plan.ts'
import { resolveExecutor } from './mcp-executor.ts'
import type { ModelEngine } from './model-engine.ts'
import { NamedPresets } from './named-presets.ts'
import { detachStructure, findRawStructure } from './raw-structure.ts'
import { onlyText } from './result-text.ts'
import { runIsolated } from './run-isolated.ts'
import type { RunParts } from './run-parts.ts'
import { isQuarantined, type ShapingRules } from './shaping-rules.ts'

/** The caller to whom a result belongs. */
export interface ResultOwner {
  readonly user: string
  readonly session: string
}

/** A result of a tool, before it is shaped for its caller. */
export interface UnshapedResult
  extends Pick<IsolatedCall, 'server' | 'definition' | 'args' | 'intent' | 'isReadOnly' | 'recall'> {
  readonly owner: ResultOwner
  readonly rules: ShapingRules
  readonly audience: Audience
  /** Whether the caller has the tool that reads stored results. */
  readonly canPage: boolean
  readonly frame: Frame
  readonly cancellation: Cancellation
}

/** A result whose structured content was not parsed. `written` has its bytes. */
interface UnparsedResult extends UnshapedResult {
  readonly written?: Buffer | undefined
}

/** A server's answer, and its protocol era. */
export interface ServerResult {
  readonly frame: Frame
  readonly era: Era
}

export interface ResultShaperOptions {
  readonly settings: () => Pick<Settings, 'isolation' | 'executor' | 'context'>
  readonly storeFor: (owner: ResultOwner) => ResultStore
  readonly findValueProblem: RunParts['findValueProblem']
  readonly createEngine: (model: ModelSettings) => ModelEngine
  readonly newId: () => string
  readonly onWarning?: ((text: string) => void) | undefined
}

export type ShapedResult = { readonly facts: ShapingFacts } & (
  | { readonly kind: 'frame'; readonly frame: Frame }
  /** `meta`: information about the run, for the caller. */
  | { readonly kind: 'failure'; readonly error: SallyportError; readonly meta: JsonObject }
)

/** The first line of a text that a model wrote. */
const MODEL_LINE = '[Written by a model, not by the tool.]'

/** Errors that a bounded result would hide: nobody waits any more, or a person has to change the configuration. */
const NEVER_BOUNDED: readonly string[] = ['CALL_CANCELLED', 'EXECUTOR_MISSING']

/** Decides which part of a result is returned to its caller. It stores the full result first. */
export class ResultShaper {
  /** The presets that servers name for their results. */
  readonly named: NamedPresets
  readonly #options: ResultShaperOptions
  readonly #engines = new WeakMap<ModelSettings, ModelEngine>()

  constructor(options: ResultShaperOptions) {
    this.#options = options
    this.named = new NamedPresets(options)
  }

  /** Whether a result is returned unchanged. Nearly all are, so this check is cheap. */
  isWhole({ plan, preset }: ShapingRules, { frame, era }: ServerResult, audience: Audience): boolean {
    const { envelope } = frame
    if (isQuarantined(plan)) return false
    // In the legacy era `input_required` has no meaning, and clients would show the rest of the result.
    if (envelope.resultType === 'input_required' && era === 'modern') return true
    if (plan?.strategy === 'exact') return true
    if (plan !== undefined && envelope.result !== undefined) return false
    const cap = capFor(frame, audience)
    // A text never has more characters than bytes.
    return envelope.bytes <= Math.min(cap, preset?.threshold ?? cap, plan?.budget ?? cap)
  }

  /** A failure may quote text of the server (its stderr, or a page sent instead of an answer) or of a provider. */
  shapeFailure({ plan }: ShapingRules, error: SallyportError): SallyportError {
    return isQuarantined(plan) ? withoutQuotedText(error) : error
  }

  async shape(call: UnshapedResult): Promise<ShapedResult> {
    const { plan } = call.rules
    const apart = plan && asksModel(plan) ? undefined : detachStructure(call.frame, this.#presetFor(call).threshold)
    const message = apart?.message ?? parseFrame(call.frame)
    if (plan && isQuarantined(plan)) return this.#quarantine(call, message, plan)
    if (call.frame.envelope.result === undefined) return this.#shapeError(call, message.error)
    const result = normalizeResult(message.result)
    const run: ShapingRun = { ...NO_USAGE, strategy: plan?.strategy ?? 'shaped' }
    // The caller has to see errors itself.
    const isForModel = plan && asksModel(plan) && !isTask(result) && !call.frame.envelope.isError
    return isForModel
      ? this.#askModel(call, result, plan)
      : this.#bound({ ...call, written: apart?.written }, result, run)
  }

  /** The text of a JSON-RPC error is limited in the same way as a result. */
  async #shapeError(call: UnshapedResult, error: Json | undefined): Promise<ShapedResult> {
    const handle = await this.#storeResult(call, { error: error ?? null })
    const run: ShapingRun = { ...NO_USAGE, strategy: call.rules.plan?.strategy ?? 'shaped', handle }
    const { threshold, fills } = this.#presetFor(call)
    const maxLength = fills ? threshold : MAX_MESSAGE_LENGTH
    return sent(call, { error: shortenError(error, { rest: describeStored(call, handle), maxLength }) }, run)
  }

  /** Shortens texts by their kind, with a handle to the full result. If everything fits, the same frame is returned. */
  async #bound(call: UnparsedResult, result: JsonObject, run: ShapingRun): Promise<ShapedResult> {
    const written = call.written ?? findRawStructure(call.frame, result, this.#presetFor(call).threshold)
    const shaped = await this.#shapeTexts(call, result, written)
    // A failed strategy is always reported, also if the full result fits.
    if (shaped === result && run.failure === undefined) return unchanged(call, run)
    return this.#changed(call, shaped, { ...run, handle: handleIn(shaped) })
  }

  async #shapeTexts(call: UnshapedResult, result: JsonObject, written?: string | Buffer): Promise<JsonObject> {
    const shaped = await shapeToolResult(result as unknown as ToolResult, {
      preset: this.#presetFor(call),
      ...(written !== undefined && { writtenStructure: written }),
      openStore: () => this.#options.storeFor(call.owner),
      tool: call.definition.name,
      describeFullResult: ({ handle }) => describeFullResult(call, handle),
    })
    return shaped as unknown as JsonObject
  }

  /** The tool's own preset, limited by the budget of an isolated tool and by the cap. */
  #presetFor({ rules: { plan, preset }, audience, frame }: UnshapedResult): Preset {
    const { presets } = this.#options.settings().context
    const cap = capFor(frame, audience)
    const maxLength = Math.min(cap, plan?.budget ?? Number.POSITIVE_INFINITY)
    const base = findPreset('default', presets)
    const chosen = preset ?? (plan ? base : fillCap(base, cap, audience))
    const isOwnSize = preset !== undefined || plan === undefined
    return isOwnSize && chosen.threshold <= maxLength ? chosen : { ...chosen, threshold: maxLength }
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
    const textRun = { ...run, handle: await this.#storeResult(call, result), writtenBy: reply.writtenBy }
    return this.#changed(call, this.#textResult(call, reply, textRun), textRun)
  }

  /** A text of a model, or a part of the result: within the budget, with its author and how to read the full result. */
  #textResult(call: UnshapedResult, { text, isError, writtenBy }: TextReply, { handle }: ShapingRun): JsonObject {
    const lead = writtenBy === 'model' ? `${MODEL_LINE}\n` : ''
    const foot = `[${describeStored(call, handle)}]`
    const preset = this.#presetFor(call)
    const threshold = preset.threshold - lead.length - foot.length
    const shown = shapeText(text, { ...preset, threshold }, { rest: 'The rest of it was left out.' })
    return textResult(call, `${lead}${shown.text}`, { isError, foot })
  }

  /**
   * Returns only a value that matches the schema: no text of a server or a model, and no handle with which the caller
   * could read such text (ISO-11, ISO-16). So nothing is stored.
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
    const { threshold } = this.#presetFor(call)
    if (reply.text.length > threshold) return this.#failure(call, valueTooLarge(reply.text.length, threshold), used)
    return this.#changed(call, textResult(call, reply.text), { ...used, writtenBy: reply.writtenBy })
  }

  /** Returns the handle; `undefined` if the result could not be stored. The answer is still useful then. */
  async #storeResult({ owner, definition }: UnshapedResult, result: JsonObject): Promise<string | undefined> {
    try {
      const saved = await this.#options.storeFor(owner).save(toFullText(result), { tool: definition.name })
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

/** Returns the frame with the same bytes that the server sent. */
function unchanged({ frame }: UnshapedResult, run: ShapingRun): ShapedResult {
  const { bytes } = frame.envelope
  return { kind: 'frame', frame, facts: toShapingFacts(run, { bytesIn: bytes, bytesOut: bytes }) }
}

const asksModel = ({ strategy }: IsolationPlan): boolean => strategy === 'extract' || strategy === 'agent'

const mayBound = (plan: IsolationPlan, { code }: SallyportError): boolean =>
  plan.fallback === 'bounded' && !NEVER_BOUNDED.includes(code)

const describeFullResult = ({ canPage }: UnshapedResult, handle: string): string =>
  canPage
    ? `Full result: ${READ_RESULT_TOOL} with handle ${handle}.`
    : `The full result is stored as ${handle}; this agent was not given ${READ_RESULT_TOOL}.`

const describeStored = (call: UnshapedResult, handle: string | undefined): string =>
  handle === undefined ? 'The full result could not be stored, and is lost.' : describeFullResult(call, handle)

/** The cap alone has no limit but its length: a longer text is shown up to it. */
const fillCap = (base: Preset, cap: number, { maxLines }: Audience): Preset => ({
  ...base,
  threshold: Math.min(cap, Number.MAX_SAFE_INTEGER),
  previewTokens: Number.POSITIVE_INFINITY,
  fills: true,
  maxLines,
})

function capFor({ envelope: { isError, error } }: Frame, { cap, errorCap }: Audience): number {
  return (isError || error !== undefined ? errorCap : cap) ?? Number.POSITIVE_INFINITY
}

type TextReply = Extract<IsolatedReply, { readonly kind: 'text' }>

interface TextAround {
  readonly isError?: boolean
  /** A last line of text, since not every agent shows `_meta` to its model. */
  readonly foot?: string
}

/** A text that is returned instead of the result. */
function textResult({ frame }: UnshapedResult, text: string, { isError = false, foot }: TextAround = {}): JsonObject {
  const { resultType } = frame.envelope
  const texts = foot === undefined ? [text] : [text, foot]
  return {
    ...(resultType !== undefined && { resultType }),
    content: texts.map((one) => ({ type: 'text', text: one })),
    ...(isError && { isError: true }),
  }
}

/** At most this much of a server's error message is repeated, unless the cap alone limits it. */
const MAX_MESSAGE_LENGTH = 1_000
const UNKNOWN_ERROR = -32_603

/** Shortens a server's error that is too long. Its message is kept up to a usual length. */
function shortenError(
  error: Json | undefined,
  { rest, maxLength }: { readonly rest: string; readonly maxLength: number },
): JsonObject {
  const { code, message } = isJsonObject(error) ? error : {}
  const text = typeof message === 'string' ? message : JSON.stringify(message ?? error ?? null)
  const note = ` [Cut by the gateway. ${rest}]`
  return {
    code: Number.isSafeInteger(code) ? (code as number) : UNKNOWN_ERROR,
    message: `${cutText(text, maxLength - note.length)}${note}`,
    data: { [SHAPED_META]: `Left out. ${rest}` },
  }
}

/** Errors whose message never quotes a server or a provider. */
const OWN_MESSAGE_CODES: readonly ErrorCode[] = [
  'ISOLATION_FAILED',
  'ISOLATION_LIMIT',
  'EXECUTOR_MISSING',
  'CALL_CANCELLED',
  'AUDIT_UNAVAILABLE',
  'INTERNAL',
]

/** The same error, without text that it may quote from a server or a provider. */
export function withoutQuotedText(error: SallyportError): SallyportError {
  const { code } = error
  if (OWN_MESSAGE_CODES.includes(code)) return error
  const hint = code === 'MODEL_UNAVAILABLE' ? error.hint : 'The operator can see more with `sallyport explain`.'
  return new SallyportError(code, 'The call failed, and its error message is withheld.', {
    hint: `Only values that match the schema in isolation.returns are returned. ${hint}`,
  })
}

/** If only values that match a schema may be returned, a server's error message may not (ISO-11). */
const withheldError = (): SallyportError =>
  new SallyportError('ISOLATION_FAILED', 'The tool gave no result, and its error message is withheld.', {
    hint: 'Only values that match the schema in isolation.returns are returned. The operator can see more with `sallyport explain`.',
  })

/** A shortened value would no longer match the schema. */
const valueTooLarge = (length: number, budget: number): SallyportError =>
  new SallyportError('ISOLATION_LIMIT', `The value has ${length} characters; at most ${budget} may be returned.`, {
    hint: 'Raise isolation.budget, or set limits such as maxLength and maxItems in isolation.returns.',
  })

/** Shows an invalid result as JSON text: an invalid result must not bypass the limits. */
function normalizeResult(result: Json | undefined): JsonObject {
  const isValid = isJsonObject(result) && (result.content === undefined || isBlockList(result.content))
  if (isValid) return result.content === undefined ? { ...result, content: [] } : result
  return { content: [{ type: 'text', text: JSON.stringify(result ?? null) }] }
}

const isBlockList = (content: Json): boolean => Array.isArray(content) && content.every(isJsonObject)

/** The text of a result that is stored: its only text, or the result as JSON. */
const toFullText = (result: JsonObject): string => onlyText(result) ?? JSON.stringify(result)

/** The handle of the first part that was left out. */
function handleIn({ _meta }: JsonObject): string | undefined {
  const facts = ((_meta as JsonObject | undefined)?.[SHAPED_META] as JsonObject | undefined)?.results
  const first = Array.isArray(facts) ? (facts[0] as JsonObject | undefined) : undefined
  return typeof first?.handle === 'string' ? first.handle : undefined
}

/** A task without any free text of the server: its id, its state, and when to ask again. */
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

/** Whether a value is a number, null or an identifier, and so cannot contain a sentence. */
const isPlainToken = (value: Json | undefined): boolean =>
  value === null || typeof value === 'number' || (typeof value === 'string' && /^[\w.:+/=-]{1,128}$/.test(value))

/** Whether the result only names a task, whose real result comes later. */
const isTask = ({ content, structuredContent, task, taskId }: JsonObject): boolean =>
  (content === undefined || (Array.isArray(content) && content.length === 0)) &&
  structuredContent === undefined &&
  (typeof taskId === 'string' || isJsonObject(task))

/** How the returned result was produced. */
interface ShapingRun extends ModelUsage {
  /** `shaped`: by a preset or the cap alone. */
  readonly strategy: IsolationPlan['strategy'] | 'shaped'
  /** The handle with which the full result can be read. */
  readonly handle?: string | undefined
  /** Who wrote the returned text; missing if the result itself is returned. */
  readonly writtenBy?: 'model' | 'tool'
  /** Why a bounded result is returned instead. */
  readonly failure?: SallyportError | undefined
}

/** What happened to a result, for its record. */
export interface ShapingFacts extends ModelUsage, Pick<ShapingRun, 'strategy'> {
  readonly bytesIn: number
  readonly bytesOut: number
  /** Estimated tokens that the caller's model does not have to read. */
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

/** Adds information about the run for the caller. For shaping alone, the kit has added it already. */
function markResult(
  result: JsonObject,
  run: ShapingRun,
  { runId, bytesIn }: { readonly runId: string; readonly bytesIn: number },
): JsonObject {
  if (run.strategy === 'shaped') return result
  const bytesOut = Buffer.byteLength(JSON.stringify(result))
  const meta = isolationMeta(run, { runId, bytesIn, bytesOut })
  return { ...result, _meta: { ...(result._meta as JsonObject | undefined), ...meta } }
}

interface RunSizes extends Pick<ShapingFacts, 'bytesIn' | 'bytesOut'> {
  readonly runId: string
}

/** The part of `_meta` that describes a run, also a failed one. */
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
