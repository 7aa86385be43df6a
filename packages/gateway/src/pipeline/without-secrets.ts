import { type JsonObject, redactJson } from '@sallyport/core'
import type { Answer, Call } from './call.ts'
import { redactFrame } from './redact-frame.ts'
import type { ToolRules } from './tool-rules.ts'

/** The call as it is sent, where an entry wants secrets taken out of the arguments instead of refusing them. */
export function withoutSecretsIn(asked: Call, { policy }: ToolRules): Call {
  if (policy.secrets.value !== 'redact') return asked
  const { _meta, ...params } = asked.params
  return { ...asked, params: { ...(redactJson(params) as JsonObject), ...(_meta !== undefined && { _meta }) } }
}

/** What a server said, without the keys and tokens in it. */
export function withoutSecrets(answer: Answer): Answer {
  if (answer.kind !== 'frame') return answer
  const frame = redactFrame(answer.frame)
  return frame === answer.frame ? answer : { ...answer, frame }
}
