import { type Cancellation, isJsonObject, type JsonObject, parseTraceId } from '@sallyport/core'
import type { Catalog, Offer } from '../../catalog/catalog.ts'
import type { Answer, Call, Pipeline } from '../../pipeline/pipeline.ts'
import { type Client, canAnswerQuestions } from '../../upstream/upstream.ts'
import type { ParkedCall } from '../legacy/parked-call.ts'
import { isParkedState, ParkedCalls } from '../legacy/parked-calls.ts'
import { readTraceContext } from './carrier.ts'
import type { ClientRequest, Reply } from './client-request.ts'
import { failureReply } from './failure-reply.ts'
import type { Ids } from './ids.ts'
import { unknownParamHeaders } from './param-headers.ts'
import { relayedStatus } from './relayed-status.ts'
import { TaskOwners } from './task-owners.ts'
import { relayedMessage, resultMessage } from './wire-message.ts'

export interface ClientCallsOptions {
  readonly catalog: Catalog
  readonly pipeline: Pipeline
  readonly ids: Ids
  /** Name and version of the gateway. */
  readonly serverInfo: JsonObject
}

/** Methods that a modern client repeats with answers, if it is asked for input. */
const RESUMABLE_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Calls of tools, prompts and resources, from the client's parameters to the reply. */
export class ClientCalls {
  readonly #options: ClientCallsOptions
  readonly #parked = new ParkedCalls()
  readonly #tasks = new TaskOwners()

  readonly #serverInfo: string

  constructor(options: ClientCallsOptions) {
    this.#options = options
    this.#serverInfo = JSON.stringify(options.serverInfo)
  }

  run(request: ClientRequest, offer: Offer, params: JsonObject): Promise<Reply> {
    if (this.#mayPark(request, offer)) return this.#runParked(request, offer, params)
    const onProgress = createProgressSender(request.client, params)
    const { client, cancellation } = request
    const call = this.#buildCall(request, { offer, params, client, cancellation, onProgress })
    return this.#options.pipeline.run(call).then((answer) => this.#toReply(request, offer, answer))
  }

  /**
   * Sends a request about a task to the server that created it. `undefined` if the creator is unknown: then neither the
   * owner is known, nor the tool whose rules apply to the result.
   */
  runForTask(request: ClientRequest, taskId: string): Promise<Reply> | undefined {
    const task = this.#tasks.find(request.principal, taskId)
    if (!task) return undefined
    const { offer, madeBy } = task
    const { client, cancellation, params } = request
    const onProgress = createProgressSender(client, params)
    const call = this.#buildCall(request, { offer, params, client, cancellation, onProgress })
    const asked = madeBy === undefined ? call : { ...call, taskMadeBy: madeBy }
    return this.#options.pipeline.run(asked).then((answer) => this.#toReply(request, offer, answer))
  }

  /** A modern client answers by repeating its call: questions of a legacy server during the call, and ours before it. */
  #mayPark({ era, method, client, params: { requestState } }: ClientRequest, offer: Offer): boolean {
    if (era !== 'modern' || !RESUMABLE_METHODS.has(method)) return false
    const { catalog, pipeline } = this.#options
    const isLegacy = catalog.serverCatalog(offer.server)?.era === 'legacy'
    // A modern server has its own states.
    if (requestState !== undefined) return isLegacy || isParkedState(requestState)
    return canAnswerQuestions(client) && (isLegacy || pipeline.needsApproval(offer))
  }

  async #runParked(request: ClientRequest, offer: Offer, given: JsonObject): Promise<Reply> {
    const { requestState, inputResponses: _responses, ...params } = given
    const run = (parked: ParkedCall): Promise<Answer> => {
      const wantsProgress = createProgressSender(request.client, params) !== undefined
      const onProgress = wantsProgress ? (progress: JsonObject) => parked.notifyProgress(progress) : undefined
      const { cancellation } = parked
      return this.#options.pipeline.run(
        this.#buildCall(request, { offer, params, client: parked, cancellation, onProgress }),
      )
    }
    const outcome =
      requestState === undefined ? await this.#parked.begin(request, run) : await this.#parked.resume(request)
    if (outcome.kind === 'answer') return this.#toReply(request, offer, outcome.answer)
    return { message: resultMessage(request.id, outcome.result), status: 200 }
  }

  #toReply(request: ClientRequest, offer: Offer, answer: Answer): Reply {
    if (answer.kind === 'failure') return failureReply(request, answer.error, answer)
    const hasWrappedOutput = offer.legacyOutput !== undefined
    const { id, method, era } = request
    const relay = { id, method, from: answer.era, to: era, hasWrappedOutput, serverInfo: this.#serverInfo }
    const isTask = answer.frame.envelope.resultType === 'task' || request.params.task !== undefined
    if (isTask) this.#tasks.remember(request.principal, offer, answer)
    const granted = answer.frame.envelope.result !== undefined
    return { message: relayedMessage(answer.frame, relay), status: relayedStatus(answer.frame, request.era), granted }
  }

  #buildCall(request: ClientRequest, run: CallInput): Call {
    const { carrier } = request
    return {
      id: this.#options.ids.callId(),
      traceId: this.resolveTraceId(request),
      principal: request.principal,
      method: request.method,
      offer: run.offer,
      subject: typeof run.params.taskId === 'string' ? run.params.taskId : undefined,
      params: run.params,
      headers: carrier && request.era === 'modern' ? unknownParamHeaders(run.offer, carrier) : undefined,
      trace: readTraceContext(carrier, run.params),
      carrier: carrier ? 'http' : 'lines',
      client: run.client,
      cancellation: run.cancellation,
      isAwaited: request.isAwaited,
      onProgress: run.onProgress,
      subscription: request.subscription,
    }
  }

  /** The trace of the message takes precedence over that of the transport. */
  resolveTraceId({ params, carrier }: ClientRequest): string {
    const meta = isJsonObject(params._meta) ? params._meta : {}
    return parseTraceId(meta.traceparent) ?? parseTraceId(carrier?.headers.traceparent) ?? this.#options.ids.traceId()
  }
}

interface CallInput {
  readonly offer: Offer
  readonly params: JsonObject
  readonly client: Client
  readonly cancellation: Cancellation
  readonly onProgress: ((progress: JsonObject) => void) | undefined
}

/** Sends progress with the client's token; `undefined` if the client did not ask for progress. */
function createProgressSender(client: Client, { _meta }: JsonObject): CallInput['onProgress'] {
  const progressToken = isJsonObject(_meta) ? _meta.progressToken : undefined
  if (progressToken === undefined) return undefined
  return (progress) => client.notify({ method: 'notifications/progress', params: { ...progress, progressToken } })
}
