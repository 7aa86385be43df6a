import {
  BUILT_IN_SERVER,
  Cancellation,
  isJsonObject,
  type JsonObject,
  type Principal,
  SallyportError,
  type ToolDefinition,
} from '@sallyport/core'
import { INTENT, type ReturnFacts, type Returning, splitIntent } from '../isolation/isolation.ts'
import { parseFrame, READ_RESULT } from '../upstream/upstream.ts'
import type { Answer, Call } from './call.ts'
import type { JudgeOptions, Trial } from './judge.ts'
import { argumentsOf } from './tool-rules.ts'

export interface HandingBackOptions extends Pick<JudgeOptions, 'rulesOf' | 'listings'> {
  /** Absent: every result goes back whole. */
  readonly returning?: Returning | undefined
  readonly ids: { callId(): string }
  /** Makes a call from its beginning. */
  readonly run: (call: Call) => Promise<Answer>
}

/** What goes back, and what is recorded of that. */
export interface Handed {
  readonly answer: Answer
  readonly facts?: ReturnFacts | undefined
}

/** Lets through of a tool's result what its rules leave for the caller. */
export class HandingBack {
  readonly #options: HandingBackOptions

  constructor(options: HandingBackOptions) {
    this.#options = options
  }

  /** What the caller wants to know is not for the server. */
  withoutIntent(asked: Call): Call {
    const given = asked.params.arguments
    if (!isJsonObject(given) || given[INTENT] === undefined || asked.offer.kind !== 'tool') return asked
    if (!this.#options.rulesOf(asked.offer).returns.takesIntent) return asked
    const { args, intent } = splitIntent(given)
    return { ...asked, params: { ...asked.params, arguments: args }, intent }
  }

  /** Nothing where all of it goes back: then it leaves as the bytes that came. */
  handBack(asked: Call, { case: { call, rules } }: Trial, answer: Answer): Promise<Handed> | undefined {
    const { returning } = this.#options
    if (returning === undefined || answer.kind !== 'frame' || call.method !== 'tools/call' || call.isOfSubAgent) return
    // A page is short, and cut again nobody could ever read on.
    if (isReader(call)) return
    const { frame, era } = answer
    if (returning.isWhole(rules.returns, frame)) return
    const { principal, offer, cancellation, intent } = call
    const returned = returning.return({
      ...{ owner: principal, server: offer.server, definition: offer.original as ToolDefinition },
      ...{ args: argumentsOf(call), intent, rules: rules.returns, frame, cancellation },
      canPage: this.#canPage(principal),
      isReadOnly: rules.policy.permission.value.every((permission) => permission === 'READ'),
      recall: (args, signal) => this.#recall(asked, args, signal),
    })
    return returned.then(
      ({ facts, ...back }) => ({
        answer: back.kind === 'frame' ? { kind: 'frame', frame: back.frame, era } : back,
        facts,
      }),
      (cause: unknown) => ({ answer: { kind: 'failure', error: broken(call, cause) } }),
    )
  }

  /** Whether the caller was given the tool that reads saved results. */
  #canPage(principal: Principal): boolean {
    const { listings } = this.#options
    const reader = listings.toolOf({ server: BUILT_IN_SERVER, tool: READ_RESULT })
    return reader !== undefined && listings.decisionFor(reader, principal).outcome !== 'deny'
  }

  /** A sub-agent calls the same tool again: a call of its own, in the same trace. */
  async #recall(asked: Call, args: JsonObject, signal: AbortSignal): Promise<JsonObject | SallyportError> {
    const cancellation = new Cancellation()
    signal.addEventListener('abort', () => cancellation.cancel('the isolated call has ended'), { once: true })
    const params = { ...asked.params, arguments: args }
    const id = this.#options.ids.callId()
    const again: Call = { ...asked, id, params, cancellation, onProgress: undefined, isOfSubAgent: true }
    const answer = await this.#options.run(again)
    return answer.kind === 'failure' ? answer.error : (parseFrame(answer.frame).result as JsonObject)
  }
}

const isReader = ({ offer }: Call): boolean => offer.server === BUILT_IN_SERVER && offer.name === READ_RESULT

/** The server did its work; what it gave must not pass by our mistake. */
const broken = ({ id }: Call, cause: unknown): SallyportError =>
  new SallyportError('INTERNAL', `Something broke inside the gateway while it shaped a result (incident ${id}).`, {
    cause,
  })
