import {
  Cancellation,
  callCancelledError,
  isJsonObject,
  type Json,
  type JsonObject,
  SallyportError,
} from '@sallyport/core'
import {
  type AskClient,
  type Client,
  type Frame,
  findMissingCapability,
  parseFrame,
  type Question,
  type QuestionAnswer,
} from '../upstream/upstream.ts'
import type { Call } from './call.ts'

/** A server that never accepts the answers must not keep a call, and a person, busy for ever. */
export const MAX_ROUNDS = 20
/** Each question is recorded, and a person may have to answer it. */
export const MAX_QUESTIONS = 100

/**
 * Asks a legacy client, in the legacy way, what a modern server needs to know. Returns the parameters with which the
 * call is repeated.
 */
export async function askForInputs(call: Call, frame: Frame, ask: AskClient | undefined): Promise<JsonObject> {
  const { inputRequests, requestState } = readInputs(frame)
  const asked = Object.entries(inputRequests)
  if (asked.length > MAX_QUESTIONS) throw tooManyQuestions(asked.length)
  const questions = asked.map(([key, request]) => [key, toQuestion(request)] as const)
  // Checked first for all: nobody should answer some questions in vain.
  for (const [, question] of questions) requireAskable(call.client, question)
  const cancelAll = (reason: string): void => {
    for (const [, { cancellation }] of questions) cancellation.cancel(reason)
  }
  call.cancellation.onCancel(cancelAll)
  try {
    const answers = questions.map(async ([key, question]) => [key, await answerTo(question, ask)] as const)
    const inputResponses = Object.fromEntries(await Promise.all(answers))
    return { ...call.params, inputResponses, ...(requestState !== undefined && { requestState }) }
  } catch (error) {
    cancelAll('another question was not answered')
    const { reason } = call.cancellation
    throw reason === undefined ? error : callCancelledError(reason)
  } finally {
    call.cancellation.onCancel(undefined)
  }
}

/** The questions that the server asks in this answer. */
export const readInputRequests = (frame: Frame): readonly Question[] =>
  Object.values(readInputs(frame).inputRequests).map(toQuestion)

function readInputs(frame: Frame): { readonly inputRequests: JsonObject; readonly requestState: Json | undefined } {
  const { result } = parseFrame(frame)
  const { inputRequests, requestState } = isJsonObject(result) ? result : {}
  return { inputRequests: isJsonObject(inputRequests) ? inputRequests : {}, requestState }
}

export const tooManyQuestions = (count: number): SallyportError =>
  new SallyportError('UPSTREAM_PROTOCOL', `The server asked ${count} things at once.`)

function toQuestion(request: unknown): Question {
  const { method, params } = isJsonObject(request) ? request : {}
  const asked = isJsonObject(params) ? params : {}
  // The legacy era needs an id for a page that is to be opened; the modern era does not.
  const needsId = asked.mode === 'url' && asked.elicitationId === undefined
  const complete = needsId ? { ...asked, elicitationId: crypto.randomUUID() } : asked
  return { method: String(method), params: complete, cancellation: new Cancellation() }
}

async function answerTo(question: Question, ask: AskClient | undefined): Promise<JsonObject> {
  const nobody = { error: { message: 'nobody can be asked' } }
  return requireResult(ask ? await ask(question) : nobody, question)
}

function requireAskable(client: Client | undefined, question: Question): void {
  const missing = client ? findMissingCapability(client, question) : question.method
  if (missing === undefined) return
  throw new SallyportError(
    'CAPABILITY_MISSING',
    `The server needs ${question.method} from the client, which does not offer ${missing}.`,
    { hint: 'Use a client that can be asked, or give the tool what it needs in its arguments.' },
  )
}

function requireResult(answer: QuestionAnswer, question: Question): JsonObject {
  if ('result' in answer) return isJsonObject(answer.result) ? answer.result : {}
  const { code, message } = answer.error
  throw new SallyportError(
    'CLIENT_REFUSED',
    `The client did not answer ${question.method}: ${String(message ?? 'no reason given')} (${String(code ?? '?')}).`,
  )
}
