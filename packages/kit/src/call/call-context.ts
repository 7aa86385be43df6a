import {
  isJsonList,
  isJsonObject,
  isLogLevel,
  type Json,
  type JsonObject,
  LOG_LEVELS,
  type LogLevel,
} from '@sallyport/core'
import type { RequestId } from '../json-rpc.ts'
import type { Schema } from '../schema/schema.ts'
import { createElicitation, type Elicited, type ElicitOptions, readElicitAnswer } from './elicitation.ts'
import { type ClientCapability, canAsk, type Question } from './question.ts'

/** A completion that the client's model is asked for, in the protocol's own shape. */
export interface SampleRequest {
  readonly messages: readonly JsonObject[]
  readonly maxTokens: number
  readonly key?: string
  readonly [field: string]: unknown
}

/** What a handler has besides its arguments. */
export interface CallContext {
  /** Aborted when the caller cancels or is gone. */
  readonly signal: AbortSignal
  /** Tells the caller how far the work is. Costs nothing when nobody asked. */
  progress(progress: number, total?: number, message?: string): void
  /** A message for the caller's log, sent from the level that the caller chose. */
  log(level: LogLevel, data: Json): void
  /** Asks the person behind the client to fill in a form. */
  elicit<const Form extends Schema>(question: ElicitOptions<Form>): Promise<Elicited<Form>>
  /** Asks the client's model. The protocol has deprecated it since 2026-07-28. */
  sample(request: SampleRequest): Promise<JsonObject>
  /** The folders that the client works in. The protocol has deprecated it since 2026-07-28. */
  listRoots(options?: { readonly key?: string }): Promise<readonly JsonObject[]>
  /** Has the client declared that it can be asked? */
  canAsk(what: ClientCapability): boolean
}

/** What carries a call at the moment. */
export interface ActiveRequest {
  readonly progressToken: RequestId | undefined
  /** The lowest level that is sent; undefined: none. */
  readonly logLevel: string | undefined
  readonly capabilities: JsonObject
  /** Sends a notification, unless the call is over. */
  notify(method: string, params: JsonObject): void
}

export interface CallChannel {
  readonly signal: AbortSignal
  readonly logger: string
  /** Nothing while the call waits for a client that has to come back. */
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

/** A handler that does not wait for its answer must not end the process when the client is gone. */
function ignoreUnhandled<Value>(answer: Promise<Value>): Promise<Value> {
  answer.catch(() => undefined)
  return answer
}

function createProgressReporter(channel: CallChannel): CallContext['progress'] {
  let furthest = Number.NEGATIVE_INFINITY
  return (progress, total, message) => {
    const { activeRequest } = channel
    // The protocol wants every notice to go further than the last; NaN compares false and is dropped too.
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
