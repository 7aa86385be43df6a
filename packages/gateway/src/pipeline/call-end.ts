import { isJsonObject } from '@sallyport/core'
import type { CallEnd } from '../telemetry/telemetry.ts'
import { type Frame, parseFrame } from '../upstream/upstream.ts'
import type { Answer } from './call.ts'

/** Of a larger error nobody needs to know the code so much. */
const MAX_ERROR_BYTES = 10_000

/** What those who watch get to know of an answer: nothing of its words. */
export function toCallEnd(answer: Answer): CallEnd {
  if (answer.kind === 'failure') return { outcome: 'failed', code: answer.error.code }
  const { envelope } = answer.frame
  const { bytes } = envelope
  if (envelope.error !== undefined) return { outcome: 'rpc_error', rpcCode: readRpcCode(answer.frame), bytes }
  return { outcome: envelope.isError ? 'tool_error' : 'success', bytes }
}

/** Whether the server refused the request itself, rather than that its tool failed. */
export const isRpcError = (answer: Answer): boolean =>
  answer.kind === 'frame' && answer.frame.envelope.error !== undefined

export function isSuccess({ frame: { envelope } }: Extract<Answer, { kind: 'frame' }>): boolean {
  return envelope.result !== undefined && !envelope.isError
}

function readRpcCode(frame: Frame): number | undefined {
  if (frame.envelope.bytes > MAX_ERROR_BYTES) return undefined
  const { error } = parseFrame(frame)
  return isJsonObject(error) && Number.isInteger(error.code) ? (error.code as number) : undefined
}

/** Tells how the call ended before its answer leaves, also where a bug of ours ends it. */
export function reportEnd(answered: Promise<Answer>, tell: (end: CallEnd) => void): Promise<Answer> {
  return answered.then(
    (answer) => {
      tell(toCallEnd(answer))
      return answer
    },
    (error: unknown) => {
      tell({ outcome: 'failed', code: 'INTERNAL' })
      throw error
    },
  )
}
