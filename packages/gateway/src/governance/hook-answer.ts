import { cutText, hasDuplicateKey, isJsonObject, SallyportError, toVisibleText } from '@sallyport/core'
import type { ApprovalAnswer } from './approval.ts'

const MEMBERS = new Set(['id', 'answer', 'by', 'why'])
const ANSWERS = ['deny', 'once', 'session'] as const
const MAX_NAME_LENGTH = 100
const MAX_REASON_LENGTH = 500

/** What a receiver of the web hook decided. It names the request, so that what was signed for one is worth nothing for another. */
export function readHookAnswer(body: Buffer, id: string): ApprovalAnswer {
  const said = parse(body)
  const odd = Object.keys(said).find((name) => !MEMBERS.has(name))
  if (odd !== undefined) throw invalidAnswerError(`"${cutText(toVisibleText(odd), MAX_NAME_LENGTH)}" is not known`)
  if (said.id !== id) throw invalidAnswerError('its "id" is not the one of this request')
  if (said.answer === 'always')
    throw new SallyportError('ALWAYS_REFUSED', 'A web hook cannot change the rules for good.', {
      hint: 'Answer "once" or "session"; "always" is for the operator: `sallyport approvals approve --always`.',
    })
  const answer = ANSWERS.find((known) => known === said.answer)
  if (answer === undefined) throw invalidAnswerError(`its "answer" is not one of ${ANSWERS.join(', ')}`)
  const by = readShortText(said.by, MAX_NAME_LENGTH)
  if (by === undefined) throw invalidAnswerError('its "by" does not say who answered')
  const why = readShortText(said.why, MAX_REASON_LENGTH)
  return { answer, by: `hook: ${by}`, via: 'hook', ...(why !== undefined && { why }) }
}

function parse(body: Buffer): Readonly<Record<string, unknown>> {
  const text = body.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw invalidAnswerError('it is not JSON', cause)
  }
  if (!isJsonObject(value)) throw invalidAnswerError('it is not an object')
  // Whoever signed it may have read the other one of two answers.
  if (hasDuplicateKey(text)) throw invalidAnswerError('it says something twice')
  return value
}

function readShortText(value: unknown, max: number): string | undefined {
  const text = typeof value === 'string' ? toVisibleText(value.trim()) : ''
  return text === '' ? undefined : cutText(text, max)
}

const invalidAnswerError = (flaw: string, cause?: unknown): SallyportError =>
  new SallyportError('INVALID_PARAMS', `The answer cannot be used: ${flaw}.`, {
    hint: 'Expected {"id": "…", "answer": "once", "by": "…", "why": "…"}; "why" may be left out.',
    cause,
  })
