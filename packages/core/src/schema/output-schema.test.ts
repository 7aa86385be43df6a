import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { Json } from '../json/json-value.ts'
import { wrapOutputSchema } from './output-schema.ts'

const resultOf = (schema: Json): Json | undefined => {
  const properties = wrapOutputSchema(schema)?.properties as { result: Json } | undefined
  return properties?.result
}

describe(`the output schema for a legacy client (${promise('GW-17')})`, () => {
  it('is unchanged if it is the schema of an object, or if there is none', () => {
    expect(wrapOutputSchema({ type: 'object', properties: {} })).toBeUndefined()
    expect(wrapOutputSchema(undefined)).toBeUndefined()
    expect(wrapOutputSchema(null)).toBeUndefined()
  })

  it('wraps any other schema into an object', () => {
    const list = { type: 'array', items: { type: 'string' } }
    expect(wrapOutputSchema({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...list })).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { result: { $schema: 'https://json-schema.org/draft/2020-12/schema', ...list } },
      required: ['result'],
    })
    expect(wrapOutputSchema(true)).toEqual({ type: 'object', properties: { result: true }, required: ['result'] })
    expect(resultOf({ anyOf: [{ type: 'object' }, { type: 'null' }] })).toEqual({
      anyOf: [{ type: 'object' }, { type: 'null' }],
    })
    expect(resultOf({ type: ['object', 'null'] })).toEqual({ type: ['object', 'null'] })
  })

  it('adjusts pointers to the same parts', () => {
    const tree = {
      type: 'array',
      items: { anyOf: [{ $ref: '#' }, { $ref: '#/$defs/leaf' }, { $ref: '#anchor' }, { $ref: 'https://x/y#/z' }] },
      $defs: { leaf: { $dynamicRef: '#/$defs/$ref' }, $ref: { type: 'string' } },
    }
    expect(resultOf(tree)).toEqual({
      type: 'array',
      items: {
        anyOf: [
          { $ref: '#/properties/result' },
          { $ref: '#/properties/result/$defs/leaf' },
          { $ref: '#anchor' },
          { $ref: 'https://x/y#/z' },
        ],
      },
      $defs: { leaf: { $dynamicRef: '#/properties/result/$defs/$ref' }, $ref: { type: 'string' } },
    })
  })

  it('does not change data, or schemas with an $id', () => {
    const schema = {
      anyOf: [
        { const: { $ref: '#' } },
        { type: 'object', properties: { default: { $ref: '#' }, enum: { enum: [{ $ref: '#' }] } } },
        { $id: 'https://x/own', items: { $ref: '#' } },
        { $id: '#old-anchor', items: { $ref: '#' } },
      ],
    }
    expect(resultOf(schema)).toEqual({
      anyOf: [
        { const: { $ref: '#' } },
        {
          type: 'object',
          properties: { default: { $ref: '#/properties/result' }, enum: { enum: [{ $ref: '#' }] } },
        },
        { $id: 'https://x/own', items: { $ref: '#' } },
        { $id: '#old-anchor', items: { $ref: '#/properties/result' } },
      ],
    })
    const addressed = { $id: 'https://x/root', type: 'array', items: { $ref: '#' } }
    expect(resultOf(addressed)).toEqual(addressed)
  })

  it('preserves a member named __proto__', () => {
    const schema = JSON.parse('{"anyOf":[{"properties":{"__proto__":{"$ref":"#"}}}]}') as Json
    expect(JSON.stringify(resultOf(schema))).toContain('"__proto__":{"$ref":"#/properties/result"}')
  })
})
