import {
  isJsonList,
  isJsonObject,
  isLogLevel,
  type Json,
  type JsonObject,
  LOG_LEVELS,
  type LogLevel,
} from '@sallyport/core'
import type { Answer, RequestId } from '../json-rpc.ts'
import type { Schema } from '../schema/schema.ts'
import { ToolRetryError, WithheldError } from '../tool-error.ts'
import { createElicitation, type Elicited, type ElicitOptions, readElicitAnswer } from './elicitation.ts'
import { assertCanAsk, type ClientCapability, canAsk, type Question } from './outgoing-requests.ts'
import type { CallBinding, ParkedCalls } from './parked-calls.ts'

/** One request of a call. A modern client that answers questions sends several requests for one call. */
export interface RoundTrip extends ActiveRequest {
  /** Answers that the request contains, by the keys of their questions. */
  readonly responses: JsonObject
  /** Asks a client of the legacy era. A client of the modern era sends the answer with its next request. */
  readonly push: ((question: Question, signal: AbortSignal) => Promise<JsonObject>) | undefined
  answer(answer: Answer): void
}

interface OpenQuestion {
  readonly question: Question
  readonly resolve: (answer: JsonObject) => void
  readonly reject: (error: unknown) => void
}

export interface RunningCallOptions {
  readonly roundTrip: RoundTrip
  readonly logger: string
  readonly parked: ParkedCalls
  readonly createBinding: () => CallBinding
  /** True if no output of the handler may reach the client: it may be private, and no stored label says so. */
  readonly isWithheld: () => boolean
  /**
   * The `_meta` entries for a question: the label of the session, once the handler's statements about private data are
   * stored. Rejects if one of them failed.
   */
  readonly readLabel: () => Promise<JsonObject | undefined>
}

/**
 * A running handler. In the modern era it is suspended while its client gets an answer, so that the work before the
 * question is not repeated.
 */
export class RunningCall implements CallChannel {
  readonly logger: string
  readonly #parked: ParkedCalls
  readonly #createBinding: () => CallBinding
  readonly #isWithheld: () => boolean
  readonly #readLabel: RunningCallOptions['readLabel']
  readonly #abort = new AbortController()
  readonly #openQuestions = new Map<string, OpenQuestion>()
  #roundTrip: RoundTrip | undefined
  #capabilities: JsonObject
  #responses: JsonObject
  #askedCount = 0
  #outcome: Answer | undefined

  constructor({ roundTrip, logger, parked, createBinding, isWithheld, readLabel }: RunningCallOptions) {
    this.logger = logger
    this.#parked = parked
    this.#createBinding = createBinding
    this.#isWithheld = isWithheld
    this.#readLabel = readLabel
    this.#roundTrip = roundTrip
    this.#capabilities = roundTrip.capabilities
    this.#responses = roundTrip.responses
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get activeRequest(): RoundTrip | undefined {
    return this.#isWithheld() ? undefined : this.#roundTrip
  }

  get capabilities(): JsonObject {
    return this.#capabilities
  }

  /** The client sent another request for this call. */
  resume(round: RoundTrip): void {
    this.#roundTrip = round
    this.#capabilities = round.capabilities
    this.#responses = round.responses
    if (this.#outcome !== undefined) return round.answer(this.#outcome)
    for (const [key, { resolve }] of this.#openQuestions) {
      const response = this.#takeResponse(key)
      if (response === undefined) continue
      this.#openQuestions.delete(key)
      resolve(response)
    }
    if (this.#openQuestions.size > 0) this.#schedulePark()
  }

  finish(outcome: Answer): void {
    this.#outcome = outcome
    this.#openQuestions.clear()
    this.#roundTrip?.answer(outcome)
  }

  cancel(): void {
    this.#roundTrip = undefined
    this.#abort.abort()
    for (const { reject } of this.#openQuestions.values()) reject(this.signal.reason)
    this.#openQuestions.clear()
  }

  async ask(question: Question): Promise<JsonObject> {
    this.signal.throwIfAborted()
    if (this.#isWithheld()) await this.#awaitLabel()
    assertCanAsk(question, this.#capabilities)
    if (this.#roundTrip?.push !== undefined) return this.#push(question)
    const key = this.#chooseKey(question)
    return this.#takeResponse(key) ?? this.#waitForAnswer(key, question)
  }

  async #push(question: Question): Promise<JsonObject> {
    const label = await this.#awaitLabel()
    const { push } = this.#roundTrip ?? {}
    if (push === undefined) throw new ToolRetryError('The client is gone.')
    const { _meta, ...params } = question.params
    const meta = { ...(isJsonObject(_meta) && _meta), ...label }
    return push(label === undefined ? question : { ...question, params: { ...params, _meta: meta } }, this.signal)
  }

  /** The text of a question may be private as well: whoever passes it on must know the label before. */
  async #awaitLabel(): Promise<JsonObject | undefined> {
    const label = await this.#readLabel().catch(() => 'failed' as const)
    this.signal.throwIfAborted()
    if (label !== 'failed' && !this.#isWithheld()) return label
    throw new WithheldError('A statement about private data failed, so nothing more is asked.')
  }

  #waitForAnswer(key: string, question: Question): Promise<JsonObject> {
    return new Promise((resolve, reject) => {
      this.#openQuestions.set(key, { question, resolve, reject })
      this.#schedulePark()
    })
  }

  /** Questions that are asked in the same tick, as with Promise.all, are sent together. */
  #schedulePark(): void {
    setImmediate(() => void this.#labelAndPark())
  }

  async #labelAndPark(): Promise<void> {
    try {
      this.#park(await this.#awaitLabel())
    } catch (error) {
      this.#rejectAll(error)
    }
  }

  #park(label: JsonObject | undefined): void {
    const round = this.#roundTrip
    if (round === undefined || this.#openQuestions.size === 0) return
    const requestState = this.#parked.park(this, this.#createBinding())
    if (requestState === undefined) throw new ToolRetryError(TOO_MANY_WAITING)
    this.#roundTrip = undefined
    const inputRequests = Object.fromEntries(
      [...this.#openQuestions].map(([key, { question }]) => [
        key,
        { method: question.method, params: question.params },
      ]),
    )
    const result = { inputRequests, requestState, ...(label && { _meta: label }) }
    round.answer({ result, resultType: 'input_required' })
  }

  #rejectAll(error: unknown): void {
    for (const { reject } of this.#openQuestions.values()) reject(error)
    this.#openQuestions.clear()
  }

  #chooseKey({ key }: Question): string {
    this.#askedCount++
    if (key === undefined) return `question_${this.#askedCount}`
    return this.#openQuestions.has(key) ? `${key}_${this.#askedCount}` : key
  }

  /** An answer is used for one question only. */
  #takeResponse(key: string): JsonObject | undefined {
    const { [key]: response, ...others } = this.#responses
    if (!Object.hasOwn(this.#responses, key) || !isJsonObject(response)) return undefined
    this.#responses = others
    return response
  }
}

const TOO_MANY_WAITING = 'Too many calls are waiting for answers. Answer or cancel some of them first.'

/** A completion request to the client's model, in the format of the protocol. */
export interface SampleRequest {
  readonly messages: readonly JsonObject[]
  readonly maxTokens: number
  readonly key?: string
  readonly [field: string]: unknown
}

/** What a handler can use besides its arguments. */
export interface CallContext {
  /** Aborted when the caller cancels or disconnects. */
  readonly signal: AbortSignal
  /** Reports progress to the caller. Does nothing if the caller did not ask for it. */
  progress(progress: number, total?: number, message?: string): void
  /** Sends a log message to the caller, if its level is at or above the one that the caller chose. */
  log(level: LogLevel, data: Json): void
  /** Asks the user of the client to fill in a form. */
  elicit<const Form extends Schema>(question: ElicitOptions<Form>): Promise<Elicited<Form>>
  /** Asks the client's model. Deprecated in the protocol since 2026-07-28. */
  sample(request: SampleRequest): Promise<JsonObject>
  /** The folders that the client works in. Deprecated in the protocol since 2026-07-28. */
  listRoots(options?: { readonly key?: string }): Promise<readonly JsonObject[]>
  /** Whether the client declared that it can be asked. */
  canAsk(what: ClientCapability): boolean
}

/** The connection of a call at the moment. */
interface ActiveRequest {
  readonly progressToken: RequestId | undefined
  /** The lowest level that is sent. `undefined`: no log message is sent. */
  readonly logLevel: string | undefined
  readonly capabilities: JsonObject
  /** Sends a notification, unless the call is over. */
  notify(method: string, params: JsonObject): void
}

interface CallChannel {
  readonly signal: AbortSignal
  readonly logger: string
  /** `undefined` while the call waits for the client's next request. */
  readonly activeRequest: ActiveRequest | undefined
  readonly capabilities: JsonObject
  ask(question: Question): Promise<JsonObject>
}

export function createCallContext(channel: CallChannel): CallContext {
  return {
    signal: channel.signal,
    progress: createProgressReporter(channel),
    log(level, data) {
      if (!isLevelEnabled(level, channel.activeRequest?.logLevel)) return
      channel.activeRequest?.notify('notifications/message', { level, logger: channel.logger, data })
    },
    elicit: (question) => ignoreUnhandled(elicit(channel, question)) as never,
    sample({ key, ...params }) {
      return ignoreUnhandled(
        channel.ask({ method: 'sampling/createMessage', params: params as unknown as JsonObject, key }),
      )
    },
    listRoots: ({ key } = {}) => ignoreUnhandled(listRoots(channel, key)),
    canAsk: (what) => canAsk(what, channel.capabilities),
  }
}

async function elicit(channel: CallChannel, question: ElicitOptions): Promise<Elicited> {
  const { params, form } = createElicitation(question)
  return readElicitAnswer(await channel.ask({ method: 'elicitation/create', params, key: question.key }), form)
}

async function listRoots(channel: CallChannel, key: string | undefined): Promise<readonly JsonObject[]> {
  const { roots } = await channel.ask({ method: 'roots/list', params: {}, key })
  return isJsonList(roots) ? roots.filter(isJsonObject) : []
}

/** A handler that does not await its answer must not crash the process when the client disconnects. */
function ignoreUnhandled<Value>(answer: Promise<Value>): Promise<Value> {
  answer.catch(() => undefined)
  return answer
}

function createProgressReporter(channel: CallChannel): CallContext['progress'] {
  let furthest = Number.NEGATIVE_INFINITY
  return (progress, total, message) => {
    const { activeRequest } = channel
    // The protocol requires each progress value to be higher than the last. NaN compares as false and is dropped too.
    if (activeRequest?.progressToken === undefined || !(progress > furthest)) return
    furthest = progress
    activeRequest.notify('notifications/progress', {
      progressToken: activeRequest.progressToken,
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    })
  }
}

function isLevelEnabled(level: LogLevel, threshold: string | undefined): boolean {
  return isLogLevel(threshold) && LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(threshold)
}
