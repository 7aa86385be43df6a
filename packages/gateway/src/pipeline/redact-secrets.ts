import { type JsonObject, redactJson } from '@sallyport/core'
import { redactFrame } from '../upstream/upstream.ts'
import type { Answer, Call } from './call.ts'
import type { ToolRules } from './rules/tool-rules.ts'

/** The call as it is sent. With `secrets: redact`, secrets are removed from the arguments instead of refused. */
export function redactCall(asked: Call, { policy }: ToolRules): Call {
  if (policy.secrets.value !== 'redact') return asked
  const { _meta, ...params } = asked.params
  return { ...asked, params: { ...(redactJson(params) as JsonObject), ...(_meta !== undefined && { _meta }) } }
}

/** The answer without keys and tokens. It is a promise only for a large answer. */
export function redactAnswer(answer: Answer): Answer | Promise<Answer> {
  if (answer.kind !== 'frame') return answer
  const frame = redactFrame(answer.frame)
  if (frame instanceof Promise) return frame.then((shown) => ({ ...answer, frame: shown }))
  return frame === answer.frame ? answer : { ...answer, frame }
}
