import { isJsonObject, type Json, printExactJson, SallyportError } from '@sallyport/core'
import type { CallEgress } from '../sandbox/sandbox.ts'
import { type Frame, parseExactFrame, scanFrame } from '../upstream/upstream.ts'
import type { Answer } from './call.ts'

/** A longer error says enough, and is not parsed for this. */
const MAX_BYTES = 1_000_000

/**
 * Programs report a refused connection as "fetch failed" or the like: the answer to a call that failed also says which
 * connections its sandbox refused meanwhile. A result that is no error stays as it is.
 */
export function addFailedConnections(answer: Answer, egress: CallEgress | undefined): Answer {
  const text = egress?.describe()
  if (text === undefined) return answer
  if (answer.kind === 'failure') return { ...answer, error: withHint(answer.error, text) }
  const { envelope } = answer.frame
  const isError = envelope.isError || envelope.error !== undefined
  if (!isError || envelope.bytes > MAX_BYTES) return answer
  return { ...answer, frame: addText(answer.frame, text) }
}

function withHint({ code, message, hint, cause }: SallyportError, text: string): SallyportError {
  return new SallyportError(code, message, { hint: hint === undefined ? text : `${hint} ${text}`, cause })
}

/** Only as text for whoever reads it: what a schema describes (`structuredContent`, `error.data`) is not changed. */
function addText(frame: Frame, text: string): Frame {
  const message = parseExactFrame(frame)
  const { result, error } = message
  // Changed in place: a copy would lose the texts of its numbers.
  if (isJsonObject(error)) Object.assign(error, { message: `${String(error.message ?? '')} ${text}`.trim() })
  else if (isJsonObject(result)) Object.assign(result, { content: addBlock(result.content, text) })
  return scanFrame([Buffer.from(printExactJson(message))])
}

const addBlock = (content: Json | undefined, text: string): Json => [
  ...(Array.isArray(content) ? content : []),
  { type: 'text', text },
]
