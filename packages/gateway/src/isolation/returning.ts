import {
  type Cancellation,
  findPreset,
  isJsonObject,
  type Json,
  type JsonObject,
  type Preset,
  SallyportError,
} from '@sallyport/core'
import { type ResultShelf, SHAPED_META, shapeToolResult, type ToolResult } from '@sallyport/kit'
import type { ModelSettings, Settings } from '../config/config.ts'
import { type Frame, frameOf, parseFrame } from '../upstream/upstream.ts'
import type { IsolatedCall, IsolatedOutcome, IsolatedReply, IsolationFacts } from './isolated-call.ts'
import type { IsolationPlan } from './isolation-plan.ts'
import { executorOf } from './mcp-executor.ts'
import type { ModelEngine } from './model-engine.ts'
import type { ReturnRules } from './return-rules.ts'
import { runIsolated } from './run-isolated.ts'
import type { RunParts } from './run-parts.ts'

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
  isWhole({ plan, preset }: ReturnRules, { envelope }: Frame): boolean {
    if (envelope.result === undefined || envelope.resultType === 'input_required') return true
    if (plan !== undefined) return plan.strategy === 'exact'
    const { cap = Number.POSITIVE_INFINITY } = this.#options.settings().context
    // A text has no more characters than its bytes are.
    return envelope.bytes <= Math.min(cap, preset?.threshold ?? cap)
  }

  async return(call: ReturnedCall): Promise<Returned> {
    const result = wellFormed(parseFrame(call.frame).result)
    const { plan } = call.rules
    const asksModel = plan?.strategy === 'extract' || plan?.strategy === 'agent'
    // What went wrong the caller has to know itself.
    if (asksModel && !call.frame.envelope.isError) return this.#think(call, result, plan)
    return this.#bound(call, result, { ...NOTHING_USED, strategy: plan?.strategy ?? 'shaped' })
  }

  /** Texts cut by their kind, with a handle to the whole; the very same frame where all of it fits. */
  async #bound(call: ReturnedCall, result: JsonObject, ran: Ran): Promise<Returned> {
    const shaped = await shapeToolResult(result as unknown as ToolResult, {
      preset: this.#presetFor(call.rules),
      openShelf: () => this.#options.shelfOf(call.owner),
      tool: call.definition.name,
      ...(!call.canPage && { sayRest: keptOnly }),
    })
    const isSame = (shaped as unknown) === result
    const handle = isSame ? undefined : handleIn(shaped)
    return this.#returned(call, { ran, result: isSame ? undefined : (shaped as unknown as JsonObject), handle })
  }

  /** A preset of its own, but never more than the cap. */
  #presetFor({ plan, preset }: ReturnRules): Preset {
    const { cap, presets } = this.#options.settings().context
    const chosen = preset ?? (plan ? findPreset('default', presets) : cappedOnly(cap, presets))
    return cap === undefined || chosen.threshold <= cap ? chosen : { ...chosen, threshold: cap }
  }

  async #think(call: ReturnedCall, result: JsonObject, plan: IsolationPlan): Promise<Returned> {
    const handle = await this.#keep(call, result)
    const { reply, facts } = await this.#run(call, result, { plan, handle })
    const ran = { ...facts, strategy: plan.strategy }
    if (!(reply instanceof SallyportError))
      return this.#returned(call, { ran, result: resultOf(reply, result), handle })
    if (plan.fallback === 'bounded' && !NEVER_BOUNDED.includes(reply.code))
      return this.#bound(call, result, { ...ran, failure: reply })
    return { kind: 'failure', error: reply, facts: this.#factsOf(call, { ran, handle, bytesOut: 0 }) }
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

const keptOnly = ({ handle }: { readonly handle: string }): string =>
  `The whole is kept as ${handle}; this agent was not given sallyport_read_result.`

const BYTES_OF_TOKEN = 4

/** What is no result of a tool is shown as the JSON that it is: it must not pass by being wrong. */
function wellFormed(result: Json | undefined): JsonObject {
  const isOne = isJsonObject(result) && (result.content === undefined || isBlockList(result.content))
  if (isOne) return result.content === undefined ? { ...result, content: [] } : result
  return { content: [{ type: 'text', text: JSON.stringify(result ?? null) }] }
}

const isBlockList = (content: Json): boolean => Array.isArray(content) && content.every(isJsonObject)

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

function wholeText(result: JsonObject): string {
  const content = Array.isArray(result.content) ? result.content : []
  const [only] = content as readonly { readonly text?: unknown }[]
  return content.length === 1 && typeof only?.text === 'string' ? only.text : JSON.stringify(result)
}

function handleIn({ _meta }: ToolResult): string | undefined {
  const facts = (_meta?.[SHAPED_META] as JsonObject | undefined)?.results
  const first = Array.isArray(facts) ? (facts[0] as JsonObject | undefined) : undefined
  return typeof first?.handle === 'string' ? first.handle : undefined
}
