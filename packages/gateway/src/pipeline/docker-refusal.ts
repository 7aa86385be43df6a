import { excerpt, isJsonObject, SallyportError } from '@sallyport/core'
import { parseFrame } from '../upstream/upstream.ts'
import type { Answer } from './call.ts'

/** What the Docker MCP Gateway says where its own scan for secrets (`block_secrets`) stops a call. */
const SECRET_STOPPED = /\ba secret is being (passed to|returned by)\b/

const MAX_ERROR_BYTES = 10_000

/** A call that the Docker MCP Gateway refused by a rule of its own: that is a denial, and no failure of the tool. */
export function dockerRefusal(answer: Answer): SallyportError | undefined {
  if (answer.kind !== 'frame') return undefined
  const { envelope } = answer.frame
  if (envelope.error === undefined || envelope.bytes > MAX_ERROR_BYTES) return undefined
  const { error } = parseFrame(answer.frame)
  const message = isJsonObject(error) && typeof error.message === 'string' ? error.message : ''
  const stopped = SECRET_STOPPED.exec(message)
  if (stopped === null) return undefined
  return new SallyportError('CALL_DENIED', `The Docker MCP Gateway stopped it: ${excerpt(message, 300)}.`, {
    hint:
      stopped[1] === 'passed to'
        ? 'Leave the secret out of the arguments.'
        : 'The tool was run, but its result holds a secret and is withheld.',
  })
}
