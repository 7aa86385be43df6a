import {
  BUILT_IN_SERVER,
  Cancellation,
  isJsonObject,
  type Json,
  type JsonObject,
  type Principal,
  SallyportError,
  type ToolDefinition,
} from '@sallyport/core'
import {
  type Audience,
  type Audiences,
  EVERYTHING,
  INTENT,
  isQuarantined,
  type ResultShaper,
  type ShapingFacts,
  splitIntent,
  stripTask,
} from '../isolation/isolation.ts'
import { type Frame, parseFrame, READ_RESULT, scanFrame } from '../upstream/upstream.ts'
import type { Answer, Call } from './call.ts'
import { isResultReader } from './listings.ts'
import { redactCall } from './redact-secrets.ts'
import { argumentsOf, type ToolRules } from './rules/tool-rules.ts'
import type { CallDeciderOptions, JudgedCall } from './steps/call-decider.ts'

export interface CallResultShaperOptions extends Pick<CallDeciderOptions, 'rulesOf' | 'listings'> {
  /** If missing, every result is returned in full. */
  readonly shaper?: ResultShaper | undefined
  /** How much of results a caller is shown. If missing, all of them. */
  readonly audiences?: Audiences | undefined
  readonly ids: { callId(): string }
  /** Runs a call through the whole pipeline. */
  readonly run: (call: Call) => Promise<Answer>
}

/** The methods whose answer can contain a tool's result. A tool that runs as a task returns its result later. */
const RESULT_METHODS: ReadonlySet<string> = new Set([
  'tools/call',
  'tasks/result',
  'tasks/get',
  'tasks/cancel',
  'tasks/update',
])

/** The answer for the caller, and the facts for its record. */
export interface ShapedAnswer {
  readonly answer: Answer
  readonly facts?: ShapingFacts | undefined
}

/** Reduces a tool's result to what its rules allow for the caller. */
export class CallResultShaper {
  readonly #options: CallResultShaperOptions

  constructor(options: CallResultShaperOptions) {
    this.#options = options
  }

  /** Removes the intent from the arguments: it is not for the server. */
  withoutIntent(asked: Call): Call {
    const given = asked.params.arguments
    if (!isJsonObject(given) || given[INTENT] === undefined || asked.offer.kind !== 'tool') return asked
    if (!this.#options.rulesOf(asked.offer).shaping.takesIntent) return asked
    const { args, intent } = splitIntent(given)
    return { ...asked, params: { ...asked.params, arguments: args }, intent, written: given }
  }

  /** `undefined` if the result is returned in full: then its bytes are sent unchanged. */
  shape(asked: Call, { context: { call, rules } }: JudgedCall, answer: Answer): Promise<ShapedAnswer> | undefined {
    const { shaper } = this.#options
    if (shaper === undefined || answer.kind !== 'frame' || !RESULT_METHODS.has(call.method) || call.isFromSubAgent)
      return
    // A page of a stored result is short. If it were cut again, nobody could read the rest.
    if (isResultReader(call.offer)) return
    const audience = this.#audienceOf(call)
    const { preset } = answer
    const { server } = call.offer
    const shaping = preset === undefined ? rules.shaping : shaper.named.addTo(rules.shaping, { server, preset })
    if (shaper.isWhole(shaping, answer, audience)) return
    const { era } = answer
    const task = call.method === 'tasks/get' ? readTaskResult(answer.frame, shownTask(rules)) : undefined
    const frame = task?.frame ?? answer.frame
    const { principal, offer, cancellation, intent } = call
    const returned = shaper.shape({
      ...{ owner: principal, server: offer.server, definition: offer.original as ToolDefinition },
      ...{ args: argumentsOf(redactCall(call, rules)), intent, rules: shaping, frame, cancellation },
      audience,
      canPage: this.#canPage(principal),
      isReadOnly:
        call.method === 'tools/call' && rules.policy.permission.value.every((permission) => permission === 'READ'),
      recall: (args, signal) => this.#recall({ asked, meant: call, signal }, args),
    })
    return returned.then(
      ({ facts, ...back }) => ({
        answer: back.kind === 'frame' ? { ...back, frame: task?.wrap(back.frame) ?? back.frame, era } : back,
        facts,
      }),
      (cause: unknown) => ({ answer: { kind: 'failure', error: broken(call, cause) } }),
    )
  }

  /** The failure as the caller sees it. The record has the full text. */
  shapeFailure({ context: { call, rules } }: JudgedCall, answer: Answer): Answer {
    const { shaper } = this.#options
    if (answer.kind !== 'failure' || shaper === undefined || call.isFromSubAgent) return answer
    return { ...answer, error: shaper.shapeFailure(rules.shaping, answer.error) }
  }

  #audienceOf({ principal: { agent }, client, offer }: Call): Audience {
    const hasOutputSchema = (): boolean => offer.original.outputSchema !== undefined
    const clientName = client?.clientInfo?.name
    return this.#options.audiences?.forCall({ agent, clientName, hasOutputSchema }) ?? EVERYTHING
  }

  /** Whether the caller may use the tool that reads stored results. */
  #canPage(principal: Principal): boolean {
    const { listings } = this.#options
    const reader = listings.toolOf({ server: BUILT_IN_SERVER, tool: READ_RESULT })
    return reader !== undefined && listings.decisionFor(reader, principal).outcome !== 'deny'
  }

  /** Calls the same tool again for a sub-agent: a separate call, in the same trace. */
  async #recall({ asked, meant, signal }: FirstCall, args: JsonObject): Promise<JsonObject | SallyportError> {
    const cancellation = new Cancellation()
    const cancel = (): void => cancellation.cancel('the isolated call has ended')
    if (signal.aborted) cancel()
    signal.addEventListener('abort', cancel, { once: true })
    // If a tool ran another tool (mcp-exec), it has to run the same one again.
    const own = asked.offer === meant.offer ? args : { name: meant.offer.name, arguments: args }
    const { requestState: _state, inputResponses: _responses, ...first } = asked.params
    const params = { ...first, arguments: own }
    const id = this.#options.ids.callId()
    const again: Call = { ...asked, id, params, cancellation, onProgress: undefined, isFromSubAgent: true }
    const answer = await this.#options.run(again)
    signal.removeEventListener('abort', cancel)
    if (answer.kind === 'failure') return answer.error
    const { result, error } = parseFrame(answer.frame)
    return isJsonObject(result)
      ? result
      : { isError: true, content: [{ type: 'text', text: toJsonText(error ?? result) }] }
  }
}

interface FirstCall {
  readonly asked: Call
  /** The call that was decided about. It may be inside the other one (mcp-exec). */
  readonly meant: Call
  readonly signal: AbortSignal
}

const shownTask = ({ shaping: { plan } }: ToolRules): ((task: JsonObject) => JsonObject) =>
  isQuarantined(plan) ? stripTask : (task) => task

const toJsonText = (answer: Json | undefined): string => JSON.stringify(answer ?? null)

/** The call was made, but its result must not be returned unshaped because of a bug in the gateway. */
const broken = ({ id }: Call, cause: unknown): SallyportError =>
  new SallyportError('INTERNAL', `Something broke inside the gateway while it shaped a result (incident ${id}).`, {
    cause,
  })

/** The result of a tool, inside the answer about its task. */
interface TaskResult {
  readonly frame: Frame
  /** The answer about the task, with another result in it. */
  wrap(result: Frame): Frame
}

/** `undefined` if the task has no result yet. `shown` reduces the task to what the caller may see. */
function readTaskResult(answer: Frame, shown: (task: JsonObject) => JsonObject): TaskResult | undefined {
  const { result: task } = parseFrame(answer)
  if (!isJsonObject(task) || !isJsonObject(task.result)) return undefined
  return {
    frame: toFrame(task.result),
    wrap: (frame) => toFrame({ ...shown(task), result: parseFrame(frame).result ?? null }),
  }
}

const toFrame = (result: object): Frame => scanFrame([Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, result }))])
