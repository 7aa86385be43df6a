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
import { boundedError, withheldError } from './bounded-error.ts'
import type { IsolatedCall, IsolatedOutcome, IsolatedReply, IsolationFacts } from './isolated-call.ts'
import type { IsolationPlan } from './isolation-plan.ts'
import { executorOf } from './mcp-executor.ts'
import type { ModelEngine } from './model-engine.ts'
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

/** What became of a result, for its record. */
export interface ReturnFacts extends IsolationFacts {
  /** `shaped`: by a preset or the cap alone. */
  readonly strategy: IsolationPlan['strategy'] | 'shaped'
  readonly bytesIn: number
  readonly bytesOut: number
  /** Estimated: what the caller's model does not have to read. */
  readonly tokensKept: number
  readonly handle: string | undefined
  /** Why a bounded result is all that there is. */
  readonly fellBack: string | undefined
}

export type Returned = { readonly facts: ReturnFacts } & (
  | { readonly kind: 'frame'; readonly frame: Frame }
  | { readonly kind: 'failure'; readonly error: SallyportError }
)

/** What a strategy came to before there is a result. */
interface Ran extends IsolationFacts {
  readonly strategy: ReturnFacts['strategy']
  readonly failure?: SallyportError
}

const NOTHING_USED: IsolationFacts = { turns: 0, tokensIn: 0, tokensOut: 0 }
const ISOLATION_META = 'sallyport/isolation'

/** Nobody waits, or somebody has to decide: a bounded result would hide it. */
const NEVER_BOUNDED: readonly string[] = ['CALL_CANCELLED', 'EXECUTOR_MISSING']

/** Decides what of a result goes back to its caller. The whole is kept first. */
export class Returning {
  readonly #options: ReturningOptions
  #engine: { readonly model: ModelSettings; readonly engine: ModelEngine } | undefined

  constructor(options: ReturningOptions) {
    this.#options = options
  }

  /** Whether a result goes back as it is: nearly all do, and this is all that it costs them. */
  isWhole({ plan, preset }: ReturnRules, { frame: { envelope }, era }: SaidResult): boolean {
    // In the older era the word means nothing, and clients would show what stands beside it.
    if (envelope.resultType === 'input_required' && era === 'modern') return true
    if (plan?.strategy === 'exact') return true
    if (plan !== undefined && (envelope.result !== undefined || isQuarantined(plan))) return false
    const { cap = Number.POSITIVE_INFINITY } = this.#options.settings().context
    // A text has no more characters than its bytes are.
    return envelope.bytes <= Math.min(cap, preset?.threshold ?? cap)
  }

  async return(call: ReturnedCall): Promise<Returned> {
    const { plan } = call.rules
    const { envelope } = call.frame
    const ran: Ran = { ...NOTHING_USED, strategy: plan?.strategy ?? 'shaped' }
    const message = parseFrame(call.frame)
    if (envelope.result === undefined) return this.#boundError(call, message.error, ran)
    const result = wellFormed(message.result)
    // What went wrong the caller has to know itself.
    if (isTask(result)) return this.#bound(call, result, ran)
    if (plan && asksModel(plan) && !envelope.isError) return this.#think(call, result, plan)
    if (plan && isQuarantined(plan)) return this.#withhold(call, result, ran)
    return this.#bound(call, result, ran)
  }

  async #boundError(call: ReturnedCall, error: Json | undefined, ran: Ran): Promise<Returned> {
    const whole = { error: error ?? null }
    if (call.rules.plan && isQuarantined(call.rules.plan)) return this.#withhold(call, whole, ran)
    const handle = await this.#keep(call, whole)
    const text = JSON.stringify({ jsonrpc: '2.0', id: 0, error: boundedError(error, sayKept(call, handle)) })
    const frame = frameOf([Buffer.from(text)])
    return { kind: 'frame', frame, facts: this.#factsOf(call, { ran, handle, bytesOut: frame.envelope.bytes }) }
  }

  async #withhold(call: ReturnedCall, whole: JsonObject, ran: Ran): Promise<Returned> {
    const handle = await this.#keep(call, whole)
    const error = withheldError(sayKept(call, handle))
    return { kind: 'failure', error, facts: this.#factsOf(call, { ran, handle, bytesOut: 0 }) }
  }

  /** Texts cut by their kind, with a handle to the whole; the very same frame where all of it fits. */
  async #bound(call: ReturnedCall, result: JsonObject, ran: Ran): Promise<Returned> {
    const preset = this.#presetFor(call.rules)
    const written = writtenStructure(call.frame, result, preset.threshold)
    const shaped = await shapeToolResult(result as unknown as ToolResult, {
      preset,
      ...(written !== undefined && { writtenStructure: written }),
      openShelf: () => this.#options.shelfOf(call.owner),
      tool: call.definition.name,
      ...(!call.canPage && { sayRest: keptOnly }),
    })
    const isSame = (shaped as unknown) === result
    const handle = isSame ? undefined : handleIn(shaped)
    return this.#returned(call, { ran, result: isSame ? undefined : (shaped as unknown as JsonObject), handle })
  }

  /** A preset of its own, but never more than the cap. */
  #presetFor({ plan, preset }: Pick<ReturnRules, 'plan' | 'preset'>): Preset {
    const { cap, presets } = this.#options.settings().context
    const chosen = preset ?? (plan ? findPreset('default', presets) : cappedOnly(cap, presets))
    return cap === undefined || chosen.threshold <= cap ? chosen : { ...chosen, threshold: cap }
  }

  async #think(call: ReturnedCall, result: JsonObject, plan: IsolationPlan): Promise<Returned> {
    const handle = await this.#keep(call, result)
    const { reply, facts } = await this.#run(call, result, { plan, handle })
    const ran = { ...facts, strategy: plan.strategy }
    if (!(reply instanceof SallyportError))
      return this.#returned(call, { ran, result: this.#inCap(resultOf(reply, result), reply), handle })
    if (plan.fallback === 'bounded' && !isQuarantined(plan) && !NEVER_BOUNDED.includes(reply.code))
      return this.#bound(call, result, { ...ran, failure: reply })
    return { kind: 'failure', error: reply, facts: this.#factsOf(call, { ran, handle, bytesOut: 0 }) }
  }

  /** A model that says too much is cut as a tool is. */
  #inCap(result: JsonObject | undefined, reply: IsolatedReply): JsonObject | undefined {
    const { cap } = this.#options.settings().context
    if (result === undefined || reply.kind !== 'text' || cap === undefined || reply.text.length <= cap) return result
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

  #run(
    call: ReturnedCall,
    result: JsonObject,
    { plan, handle = '' }: { readonly plan: IsolationPlan; readonly handle: string | undefined },
  ): Promise<IsolatedOutcome> {
    const leaving = new AbortController()
    call.cancellation.onCancel((reason) => leaving.abort(reason))
    const { flawIn, settings } = this.#options
    const isolated = { ...call, result, plan, handle, signal: leaving.signal }
    return runIsolated({
      call: isolated,
      parts: { flawIn, engine: this.#engineNow() },
      executor: executorOf(settings().executor),
    })
  }

  #engineNow(): ModelEngine | undefined {
    const { isolation, executor } = this.#options.settings()
    const model = executor.model ?? isolation.model
    if (model === undefined || isolation.engine === 'none') return undefined
    if (this.#engine?.model !== model) this.#engine = { model, engine: this.#options.createEngine(model) }
    return this.#engine.engine
  }

  /** `result`: undefined where the frame goes back as it is. */
  #returned(
    call: ReturnedCall,
    {
      ran,
      result,
      handle,
    }: { readonly ran: Ran; readonly result: JsonObject | undefined; readonly handle: string | undefined },
  ): Returned {
    if (result === undefined) {
      const facts = this.#factsOf(call, { ran, handle, bytesOut: call.frame.envelope.bytes })
      return { kind: 'frame', frame: call.frame, facts }
    }
    const text = JSON.stringify({ jsonrpc: '2.0', id: 0, result: this.#marked(result, call, { ran, handle }) })
    const frame = frameOf([Buffer.from(text)])
    return { kind: 'frame', frame, facts: this.#factsOf(call, { ran, handle, bytesOut: frame.envelope.bytes }) }
  }

  /** What the caller is told of the run; of shaping alone the kit has told it. */
  #marked(
    result: JsonObject,
    { frame }: ReturnedCall,
    { ran, handle }: { readonly ran: Ran; readonly handle: string | undefined },
  ): JsonObject {
    if (ran.strategy === 'shaped') return result
    const told = {
      run_id: this.#options.newId(),
      strategy: ran.strategy,
      ...(ran.failure && { fell_back: ran.failure.text }),
      turns: ran.turns,
      tokens_in: ran.tokensIn,
      tokens_out: ran.tokensOut,
      bytes_in: frame.envelope.bytes,
      bytes_out: Buffer.byteLength(JSON.stringify(result)),
      ...(handle === undefined && asksModel(ran) && { lost: 'The whole result could not be kept.' }),
      ...(handle !== undefined && { handle }),
    }
    return { ...result, _meta: { ...(result._meta as JsonObject | undefined), [ISOLATION_META]: told } }
  }

  #factsOf(
    { frame }: ReturnedCall,
    { ran, handle, bytesOut }: { readonly ran: Ran; readonly handle: string | undefined; readonly bytesOut: number },
  ): ReturnFacts {
    const { failure, ...used } = ran
    const bytesIn = frame.envelope.bytes
    const tokensKept = Math.max(0, Math.round((bytesIn - bytesOut) / BYTES_OF_TOKEN))
    return { ...used, bytesIn, bytesOut, tokensKept, handle, fellBack: failure?.code }
  }
}

const asksModel = ({ strategy }: Pick<Ran, 'strategy'>): boolean => strategy === 'extract' || strategy === 'agent'

/** Only values that validate cross back, whatever happens (ISO-11). */
const isQuarantined = (plan: IsolationPlan): boolean => plan.returns !== undefined && asksModel(plan)

function sayKept({ canPage }: ReturnedCall, handle: string | undefined): string {
  if (handle === undefined) return 'The whole could not be kept, and is lost.'
  return canPage ? `The whole: ${READ_RESULT_TOOL} with handle ${handle}.` : keptOnly({ handle })
}

const keptOnly = ({ handle }: { readonly handle: string }): string =>
  `The whole is kept as ${handle}; this agent was not given sallyport_read_result.`

const BYTES_OF_TOKEN = 4

/** The cap alone knows nothing of tokens: what is over it is shown as far as it goes. */
function cappedOnly(cap: number | undefined, presets: Settings['context']['presets']): Preset {
  const base = findPreset('default', presets)
  const threshold = cap ?? Number.MAX_SAFE_INTEGER
  return { ...base, threshold, previewTokens: Math.ceil(threshold / 2) }
}

/** What goes back in place of the result; undefined where that goes back itself. */
function resultOf(reply: IsolatedReply, { resultType }: JsonObject): JsonObject | undefined {
  switch (reply.kind) {
    case 'received':
      return undefined
    case 'result':
      return reply.result
    case 'text':
      return {
        ...(resultType !== undefined && { resultType }),
        content: [{ type: 'text', text: reply.text }],
        ...(reply.isError && { isError: true }),
      }
  }
}
