import { Cancellation, isJsonObject, type JsonObject, SallyportError } from '@sallyport/core'
import { type Client, type Frame, lackedBy, type Question, type QuestionAnswer } from '../upstream/upstream.ts'
import type { Call } from './call.ts'

export type AskClient = (question: Question) => Promise<QuestionAnswer>

/** A server that is never content with the answers must not keep a call, and a person, busy for ever. */
export const MOST_ROUNDS = 20

/**
 * What a modern server wants to know before it goes on, asked of a legacy client as that era asks: the parameters with
 * which the call is made again.
 */
export async function nextRound(call: Call, frame: Frame, ask: AskClient): Promise<JsonObject> {
  const { inputRequests, requestState } = readInputs(frame)
  const cancellations: Cancellation[] = []
  const answers = Object.entries(inputRequests).map(async ([key, request]) => {
    const cancellation = new Cancellation()
    cancellations.push(cancellation)
    return [key, await answerTo(call, { ...questionIn(request), cancellation }, ask)] as const
  })
  call.cancellation.onCancel((reason) => {
    for (const cancellation of cancellations) cancellation.cancel(reason)
  })
  const inputResponses = Object.fromEntries(await Promise.all(answers))
  call.cancellation.onCancel(undefined)
  return { ...call.params, inputResponses, ...(requestState !== undefined && { requestState }) }
}

function readInputs(frame: Frame): JsonObject & { readonly inputRequests: JsonObject } {
  const { result } = JSON.parse(Buffer.concat(frame.parts).toString('utf8')) as { result: JsonObject }
  return { ...result, inputRequests: isJsonObject(result.inputRequests) ? result.inputRequests : {} }
}

function questionIn(request: unknown): Pick<Question, 'method' | 'params'> {
  const { method, params } = isJsonObject(request) ? request : {}
  const asked = isJsonObject(params) ? params : {}
  // The legacy era names a page that is to be opened; the modern one has no need to.
  const needsName = asked.mode === 'url' && asked.elicitationId === undefined
  return { method: String(method), params: needsName ? { ...asked, elicitationId: crypto.randomUUID() } : asked }
}

async function answerTo({ client }: Call, question: Question, ask: AskClient): Promise<JsonObject> {
  const lacked = lackOf(client, question)
  if (lacked !== undefined)
    throw new SallyportError(
      'CAPABILITY_MISSING',
      `The server needs ${question.method} from the client, which does not offer ${lacked}.`,
      { hint: 'Use a client that can be asked, or give the tool what it needs in its arguments.' },
    )
  const answer = await ask(question)
  if ('result' in answer) return isJsonObject(answer.result) ? answer.result : {}
  const { code, message } = answer.error
  throw new SallyportError(
    'CLIENT_REFUSED',
    `The client did not answer ${question.method}: ${String(message ?? 'no reason given')} (${String(code ?? '?')}).`,
  )
}

const lackOf = (client: Client | undefined, question: Question): string | undefined =>
  client ? lackedBy(client, question) : question.method
