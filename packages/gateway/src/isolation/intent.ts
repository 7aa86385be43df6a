import { isJsonObject, type JsonObject } from '@sallyport/core'
import type { IsolationPlan } from './isolation-plan.ts'

/** The argument in which a caller says what it wants to know from a result. */
export const INTENT = '_intent'

const ARGUMENT: JsonObject = Object.freeze({
  type: 'string',
  description: 'What do you want to know? The answer is taken from the result, which itself stays out of your context.',
})

/** Keywords with which a schema may forbid an additional argument. */
const CLOSING = ['propertyNames', 'maxProperties', 'unevaluatedProperties', 'allOf', 'anyOf', 'oneOf', 'not', '$ref']

/** Whether a tool can have the argument: its strategy uses it, and its schema allows one more property. */
export function takesIntent(plan: IsolationPlan | undefined, schema: unknown): boolean {
  if (plan?.strategy !== 'extract' || !isJsonObject(schema) || schema.type !== 'object') return false
  const { properties = {} } = schema
  return (
    isJsonObject(properties) && !Object.hasOwn(properties, INTENT) && !CLOSING.some((key) => Object.hasOwn(schema, key))
  )
}

export function withIntent(definition: JsonObject): JsonObject {
  const schema = definition.inputSchema as JsonObject
  const properties = { ...(schema.properties as JsonObject | undefined), [INTENT]: ARGUMENT }
  return { ...definition, inputSchema: { ...schema, properties } }
}

/** Separates the intent from the other arguments. */
export function splitIntent(args: JsonObject): { readonly args: JsonObject; readonly intent: string | undefined } {
  const { [INTENT]: intent, ...rest } = args
  return { args: rest, intent: typeof intent === 'string' && intent.trim() !== '' ? intent : undefined }
}
