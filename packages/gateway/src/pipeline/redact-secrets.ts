import { type JsonObject, redactJson } from '@sallyport/core'
import { redactFrame } from '../upstream/upstream.ts'
import type { Answer, Call } from './call.ts'
import type { ToolRules } from './rules/tool-rules.ts'

/** The call as it is sent, where an entry wants secrets taken out of the arguments instead of refusing them. */
export function redactCall(asked: Call, { policy }: ToolRules): Call {
  if (policy.secrets.value !== 'redact') return asked
  const { _meta, ...params } = asked.params
  return { ...asked, params: { ...(redactJson(params) as JsonObject), ...(_meta !== undefined && { _meta }) } }
}

/** What a server said, without the keys and tokens in it. Only a large answer takes more than a moment. */
export function redactAnswer(answer: Answer): Answer | Promise<Answer> {
  if (answer.kind !== 'frame') return answer
  const frame = redactFrame(answer.frame)
  if (frame instanceof Promise) return frame.then((shown) => ({ ...answer, frame: shown }))
  return frame === answer.frame ? answer : { ...answer, frame }
}
