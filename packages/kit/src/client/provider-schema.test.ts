import fc from 'fast-check'
import { expect, test } from 'vitest'
import { toProviderSchema } from './provider-schema.ts'

const name = { type: 'string' }

test.each([
  ['nothing', undefined, { type: 'object', properties: {} }],
  ['true', true, { type: 'object', properties: {} }],
  ['no type', { properties: { name } }, { type: 'object', properties: { name } }],
  ['several types', { type: ['object', 'null'], properties: { name } }, { type: 'object', properties: { name } }],
  [
    'a dialect and an id',
    { $schema: 'https://json-schema.org/draft/2020-12/schema', $id: 'x', type: 'object', properties: { name } },
    { type: 'object', properties: { name } },
  ],
  [
    'alternatives',
    {
      oneOf: [
        { properties: { name, age: {} }, required: ['name', 'age'] },
        { properties: { name, town: {} }, required: ['name', 'town'] },
      ],
    },
    { type: 'object', properties: { name, age: {}, town: {} }, required: ['name'] },
  ],
  [
    'parts',
    { type: 'object', properties: { age: {} }, allOf: [{ properties: { name }, required: ['name'] }] },
    { type: 'object', properties: { age: {}, name }, required: ['name'] },
  ],
  [
    'a reference',
    { $ref: '#/$defs/Query', $defs: { Query: { properties: { name }, required: ['name'] } } },
    {
      type: 'object',
      $defs: { Query: { properties: { name }, required: ['name'] } },
      properties: { name },
      required: ['name'],
    },
  ],
  ['a required name without a property', { required: ['name'] }, { type: 'object', properties: {} }],
  ['a reference to itself', { $ref: '#', properties: { name } }, { type: 'object', properties: { name } }],
  [
    'additional properties',
    { additionalProperties: false },
    { type: 'object', properties: {}, additionalProperties: false },
  ],
])('a schema with %s becomes one that providers accept', (_, schema, expected) => {
  expect(toProviderSchema(schema)).toEqual(expected)
})

test('whatever a server sends, the schema is an object without alternatives at the top', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      for (const schema of [
        one,
        { anyOf: one, properties: other },
        { allOf: [one, other], required: one },
        { $ref: one },
      ]) {
        const made = toProviderSchema(schema)
        expect(made.type).toBe('object')
        expect(typeof made.properties).toBe('object')
        for (const keyword of ['oneOf', 'anyOf', 'allOf', 'not', 'enum', '$schema'])
          expect(made).not.toHaveProperty(keyword)
      }
    }),
  )
})

test('references that double at every step do not take forever', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => {
      const next = { $ref: `#/$defs/d${at + 1}` }
      return [`d${at}`, { allOf: Array.from({ length: 64 }, () => next) }]
    }),
  )
  expect(toProviderSchema({ $ref: '#/$defs/d0', $defs }).type).toBe('object')
  const again = Array.from({ length: 64 }, () => ({ $ref: '#' }))
  const circular = { properties: { name }, allOf: again, anyOf: again, oneOf: again }
  expect(toProviderSchema(circular)).toEqual({ type: 'object', properties: { name } })
})
