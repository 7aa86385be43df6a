import { type Json, SallyportError } from '@sallyport/core'
import { type ClientMessage, type InvalidMessage, readElement } from '../rpc/client-message.ts'
import { failureReply } from '../rpc/failure-reply.ts'
import { isModern } from '../rpc/modern-envelope.ts'
import { errorMessage, type WireMessage } from '../rpc/wire-message.ts'

/** The only version of the protocol that has batches. */
const BATCH_VERSION = '2025-03-26'
/** Each request of a batch is in flight at the same time. */
const MAX_BATCH = 100

type RequestMessage = Extract<ClientMessage, { kind: 'request' }>

/** What a connection does with each message. */
export interface BatchHandlers {
  answer(request: RequestMessage): Promise<WireMessage | undefined>
  notify(notification: Extract<ClientMessage, { kind: 'notification' }>): void
  respond(response: Extract<ClientMessage, { kind: 'response' }>): void
}

/** The messages of a batch. Throws if the version has no batches, or the batch has too many messages or none. */
export function readBatch(elements: readonly Json[], version: string): readonly (ClientMessage | InvalidMessage)[] {
  if (version !== BATCH_VERSION)
    throw new SallyportError(
      'INVALID_REQUEST',
      `Batches are not part of the protocol${version === '' ? '' : ` version ${version}`}: send one message at a time.`,
    )
  if (elements.length === 0) throw new SallyportError('INVALID_REQUEST', 'The batch is empty.')
  if (elements.length > MAX_BATCH)
    throw new SallyportError(
      'INVALID_REQUEST',
      `The batch has ${elements.length} messages, at most ${MAX_BATCH} are allowed.`,
    )
  return elements.map(readElement)
}

/** Handles all messages at once. The answers are one array, in the order of the requests; `undefined` if there are none. */
export async function answerBatch(
  messages: readonly (ClientMessage | InvalidMessage)[],
  handlers: BatchHandlers,
): Promise<WireMessage | undefined> {
  const answers = await Promise.all(messages.map((message) => answerElement(message, handlers)))
  const given = answers.filter((answer) => answer !== undefined)
  if (given.length === 0) return undefined
  return ['[', ...given.flatMap((answer, at) => (at === 0 ? answer : [',', ...answer])), ']']
}

function answerElement(
  message: ClientMessage | InvalidMessage,
  handlers: BatchHandlers,
): WireMessage | undefined | Promise<WireMessage | undefined> {
  if ('error' in message) return errorMessage(message.id, { code: message.error.kind.rpc, message: message.error.text })
  if (message.kind === 'notification') return void handlers.notify(message)
  if (message.kind === 'response') return void handlers.respond(message)
  if (message.method !== 'initialize' && !isModern(message)) return handlers.answer(message)
  const { id, method } = message
  const what = method === 'initialize' ? '"initialize"' : 'A request of another version'
  const refusal = new SallyportError('INVALID_REQUEST', `${what} cannot be part of a batch.`)
  return failureReply({ id, method, era: 'legacy' }, refusal).message
}
