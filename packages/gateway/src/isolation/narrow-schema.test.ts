import type { JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import type { IsolationPlan } from './isolation-plan.ts'
import { countNarrowValues } from './narrow-schema.ts'

const plan = (returns: JsonObject | undefined): IsolationPlan => ({ returns }) as IsolationPlan

const object = (properties: JsonObject): JsonObject => ({ type: 'object', properties, additionalProperties: false })

describe('values that cannot carry a text', () => {
  it.each<[string, number, JsonObject]>([
    ['a truth value', 1, { type: 'boolean' }],
    ['a number', 1, { type: 'number', minimum: 0 }],
    ['a choice', 1, { enum: ['above', 'below'] }],
    ['an object of them', 2, object({ above: { type: 'boolean' }, level: { enum: ['a', 'b'] } })],
    ['nothing but success', 1, object({})],
    ['a short list', 20, { type: 'array', items: { type: 'integer' }, maxItems: 20 }],
  ])('are narrow, and counted: %s', (_, count, schema) => {
    expect(countNarrowValues(plan(schema))).toBe(count)
  })

  it.each<[string, JsonObject | undefined]>([
    ['no schema', undefined],
    ['any value', {}],
    ['a text', { type: 'string' }],
    ['a short text', { type: 'string', maxLength: 5 }],
    ['a text of a pattern', { type: 'string', pattern: '^[a-z]$' }],
    ['several types', { type: ['boolean', 'string'] }],
    ['an object with other members', { type: 'object', properties: { a: { type: 'boolean' } } }],
    ['an object with a text deep in it', object({ a: object({ b: { type: 'string' } }) })],
    ['names of members', { type: 'object', properties: {}, additionalProperties: { type: 'boolean' } }],
    ['a list without an end', { type: 'array', items: { type: 'boolean' } }],
    ['a list of less than nothing', { type: 'array', items: { type: 'string' }, maxItems: -1 }],
    ['a long list', { type: 'array', items: { type: 'boolean' }, maxItems: 21 }],
    [
      'a list of lists',
      { type: 'array', items: { type: 'array', items: { type: 'integer' }, maxItems: 5 }, maxItems: 5 },
    ],
    ['a combination', { anyOf: [{ type: 'boolean' }, { type: 'string' }] }],
    ['a reference', { $ref: '#/$defs/a', $defs: { a: { type: 'string' } } }],
    ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'boolean' }, maxItems: 2 }],
  ])('are not: %s', (_, schema) => {
    expect(countNarrowValues(plan(schema))).toBeUndefined()
  })
})
