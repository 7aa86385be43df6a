import { type JsonObject, mayHoldSecret, redactJson } from '@sallyport/core'
import type { Frame } from './transport.ts'

/** What a server tells beside its answers, without keys and tokens. A look at its bytes spares nearly all of it a closer one. */
export function redactNotification(notice: JsonObject, { parts }: Pick<Frame, 'parts'>): JsonObject {
  return mayHoldSecret(parts) ? (redactJson(notice) as JsonObject) : notice
}
