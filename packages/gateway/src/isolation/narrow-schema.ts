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
 * Whether a call returns nothing but a few choices, numbers and truth values: then the session does not take the label
 * of what its sub-agent read. A free text could carry all of it, so with one the session takes the label, too.
 */
export function returnsOnlyNarrowValues(plan: IsolationPlan | undefined): boolean {
  return plan?.returns !== undefined && countValues(plan.returns, 0) <= MAX_VALUES
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
  typeof maxItems === 'number' ? maxItems * countValues(items, depth + 1) : Number.POSITIVE_INFINITY

function countProperties({ properties, additionalProperties }: JsonObject, depth: number): number {
  if (additionalProperties !== false || !isJsonObject(properties)) return Number.POSITIVE_INFINITY
  return Object.values(properties).reduce<number>((sum, property) => sum + countValues(property, depth + 1), 0)
}
