import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import type { IsolationPlan } from './isolation-plan.ts'

/** More values than this could spell out a text. */
const MAX_VALUES = 20
const MAX_DEPTH = 5

/** Keywords that restrict values further, or are for people only. */
const HARMLESS = new Set(
  [
    '$schema',
    'title',
    'description',
    'type',
    'enum',
    'const',
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'default',
  ].concat([
    'exclusiveMaximum',
    'multipleOf',
    'properties',
    'required',
    'additionalProperties',
    'items',
    'maxItems',
    'minItems',
  ]),
)

/**
 * How many values a call returns at most, if these are nothing but a few choices, numbers and truth values: then the
 * session does not take the label of what its sub-agent read. `undefined` if a free text could carry all of it.
 */
export function countNarrowValues(plan: IsolationPlan | undefined): number | undefined {
  if (plan?.returns === undefined) return undefined
  // Even a schema without values says that the reading succeeded.
  const count = Math.max(1, countValues(plan.returns, 0))
  return count <= MAX_VALUES ? count : undefined
}

/** How many values it can hold at most; infinite if one of them can be a text, or if that is not clear. */
function countValues(schema: Json | undefined, depth: number): number {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return Number.POSITIVE_INFINITY
  if (Object.keys(schema).some((key) => !HARMLESS.has(key))) return Number.POSITIVE_INFINITY
  if (schema.const !== undefined) return 1
  if (Array.isArray(schema.enum)) return 1
  switch (schema.type) {
    case 'boolean':
    case 'integer':
    case 'number':
    case 'null':
      return 1
    case 'array':
      return countItems(schema, depth)
    case 'object':
      return countProperties(schema, depth)
    default:
      return Number.POSITIVE_INFINITY
  }
}

const countItems = ({ items, maxItems }: JsonObject, depth: number): number =>
  typeof maxItems === 'number' && maxItems >= 0 ? maxItems * countValues(items, depth + 1) : Number.POSITIVE_INFINITY

function countProperties({ properties, additionalProperties }: JsonObject, depth: number): number {
  if (additionalProperties !== false || !isJsonObject(properties)) return Number.POSITIVE_INFINITY
  return Object.values(properties).reduce<number>((sum, property) => sum + countValues(property, depth + 1), 0)
}
