import { isJsonObject, type JsonObject } from '@sallyport/core'
import { MissingCapabilityError } from '../tool-error.ts'

const CAPABILITY_BY_METHOD = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
} as const

/** What a client may say that it can be asked. */
export type ClientCapability = (typeof CAPABILITY_BY_METHOD)[keyof typeof CAPABILITY_BY_METHOD]

/** Something that only the client knows. */
export interface Question {
  readonly method: keyof typeof CAPABILITY_BY_METHOD
  readonly params: JsonObject
  /** Its name among the questions of a call, for clients of the modern era. */
  readonly key?: string | undefined
}

export function canAsk(what: ClientCapability, capabilities: JsonObject): boolean {
  const declared = capabilities[what]
  if (!isJsonObject(declared)) return false
  // An elicitation that names its modes has no others; one that names none has forms (2025-06-18).
  return what !== 'elicitation' || isJsonObject(declared.form) || !('url' in declared)
}

export function assertCanAsk({ method }: Question, capabilities: JsonObject): void {
  const capability = CAPABILITY_BY_METHOD[method]
  if (!canAsk(capability, capabilities)) throw new MissingCapabilityError(capability)
}
