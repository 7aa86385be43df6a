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
  /** Absent: every result goes back whole. */
  readonly shaper?: ResultShaper | undefined
  readonly ids: { callId(): string }
  /** Makes a call from its beginning. */
  readonly run: (call: Call) => Promise<Answer>
}

/** A tool that is called as a task gives its result later. */
const RESULT_METHODS: ReadonlySet<string> = new Set([
  'tools/call',
  'tasks/result',
  'tasks/get',
  'tasks/cancel',
  'tasks/update',
])

/** What goes back, and what is recorded of that. */
export interface ShapedAnswer {
  readonly answer: Answer
  readonly facts?: ShapingFacts | undefined
}

/** Lets through of a tool's result what its rules leave for the caller. */
export class CallResultShaper {
  readonly #options: CallResultShaperOptions

  constructor(options: CallResultShaperOptions) {
    this.#options = options
  }

  /** What the caller wants to know is not for the server. */
  withoutIntent(asked: Call): Call {
    const given = asked.params.arguments
    if (!isJsonObject(given) || given[INTENT] === undefined || asked.offer.kind !== 'tool') return asked
    if (!this.#options.rulesOf(asked.offer).shaping.takesIntent) return asked
    const { args, intent } = splitIntent(given)
    return { ...asked, params: { ...asked.params, arguments: args }, intent }
  }

  /** Nothing where all of it goes back: then it leaves as the bytes that came. */
  shape(asked: Call, { context: { call, rules } }: JudgedCall, answer: Answer): Promise<ShapedAnswer> | undefined {
    const { shaper } = this.#options
    if (shaper === undefined || answer.kind !== 'frame' || !RESULT_METHODS.has(call.method) || call.isFromSubAgent)
      return
    // A page is short, and cut again nobody could ever read on.
    if (isResultReader(call.offer) || shaper.isWhole(rules.shaping, answer)) return
    const { era } = answer
    const task = call.method === 'tasks/get' ? readTaskResult(answer.frame, shownTask(rules)) : undefined
    const frame = task?.frame ?? answer.frame
    const { principal, offer, cancellation, intent } = call
    const returned = shaper.shape({
      ...{ owner: principal, server: offer.server, definition: offer.original as ToolDefinition },
      ...{ args: argumentsOf(redactCall(call, rules)), intent, rules: rules.shaping, frame, cancellation },
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

  /** As its caller is told. The record has all of it. */
  shapeFailure({ context: { call, rules } }: JudgedCall, answer: Answer): Answer {
    const { shaper } = this.#options
    if (answer.kind !== 'failure' || shaper === undefined || call.isFromSubAgent) return answer
    return { ...answer, error: shaper.shapeFailure(rules.shaping, answer.error) }
  }

  /** Whether the caller was given the tool that reads saved results. */
  #canPage(principal: Principal): boolean {
    const { listings } = this.#options
    const reader = listings.toolOf({ server: BUILT_IN_SERVER, tool: READ_RESULT })
    return reader !== undefined && listings.decisionFor(reader, principal).outcome !== 'deny'
  }

  /** A sub-agent calls the same tool again: a call of its own, in the same trace. */
  async #recall({ asked, meant, signal }: FirstCall, args: JsonObject): Promise<JsonObject | SallyportError> {
    const cancellation = new Cancellation()
    const leave = (): void => cancellation.cancel('the isolated call has ended')
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    // One tool that runs another is asked for that same one again.
    const own = asked.offer === meant.offer ? args : { name: meant.offer.name, arguments: args }
    const { requestState: _state, inputResponses: _responses, ...first } = asked.params
    const params = { ...first, arguments: own }
    const id = this.#options.ids.callId()
    const again: Call = { ...asked, id, params, cancellation, onProgress: undefined, isFromSubAgent: true }
    const answer = await this.#options.run(again)
    signal.removeEventListener('abort', leave)
    if (answer.kind === 'failure') return answer.error
    const { result, error } = parseFrame(answer.frame)
    return isJsonObject(result)
      ? result
      : { isError: true, content: [{ type: 'text', text: toJsonText(error ?? result) }] }
  }
}

interface FirstCall {
  readonly asked: Call
  /** The call that is judged, which may stand in the other. */
  readonly meant: Call
  readonly signal: AbortSignal
}

const shownTask = ({ shaping: { plan } }: ToolRules): ((task: JsonObject) => JsonObject) =>
  isQuarantined(plan) ? stripTask : (task) => task

const toJsonText = (answer: Json | undefined): string => JSON.stringify(answer ?? null)

/** The server did its work; what it gave must not pass by our mistake. */
const broken = ({ id }: Call, cause: unknown): SallyportError =>
  new SallyportError('INTERNAL', `Something broke inside the gateway while it shaped a result (incident ${id}).`, {
    cause,
  })

/** The result of a tool that stands in what is told of its task. */
interface TaskResult {
  readonly frame: Frame
  /** What is told of the task, with another result in it. */
  wrap(result: Frame): Frame
}

/** Undefined where the task has no result yet. `shown`: what the caller gets to see of the task itself. */
function readTaskResult(told: Frame, shown: (task: JsonObject) => JsonObject): TaskResult | undefined {
  const { result: task } = parseFrame(told)
  if (!isJsonObject(task) || !isJsonObject(task.result)) return undefined
  return {
    frame: toFrame(task.result),
    wrap: (frame) => toFrame({ ...shown(task), result: parseFrame(frame).result ?? null }),
  }
}

const toFrame = (result: object): Frame => scanFrame([Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, result }))])
