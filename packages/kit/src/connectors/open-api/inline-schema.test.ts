import { describe, expect, test } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { readSchema } from '../../schema/read-schema.ts'
import { inlineSchema } from './inline-schema.ts'

/** A schema nested inside others. */
function nest(levels: number, wrap: (inner: object) => object, inner: object): object {
  let schema = inner
  for (let level = 0; level < levels; level++) schema = wrap(schema)
  return schema
}

const accepts = (schema: object, value: unknown): boolean =>
  'value' in (readSchema(inlineSchema({}, schema as never), 'output', 'the body').check(value as never) as object)

describe(promise('KIT-18'), () => {
  test.each([
    ['required and type', { type: ['object', 'null'], required: ['a'], properties: { a: { enum: [{ x: 1 }] } } }],
    ['not', { not: { type: 'string' } }],
    ['oneOf', { oneOf: [{ type: 'object' }, { type: 'array' }] }],
    ['if', { if: { type: 'string' }, else: { type: 'object' } }],
    ['contains', { contains: { const: 1 }, maxContains: 0 }],
  ])('cutting a large schema leaves a valid one that refuses nothing more: %s', (_, inner) => {
    for (let levels = 0; levels < 15; levels++) {
      expect(
        accepts(
          nest(levels, (schema) => ({ allOf: [schema] }), inner),
          { a: { x: 1 } },
        ),
      ).toBe(true)
      expect(
        accepts(
          nest(levels, (schema) => ({ not: { not: schema } }), inner),
          { a: { x: 1 } },
        ),
      ).toBe(true)
      expect(
        accepts(
          nest(levels, (schema) => ({ oneOf: [schema, false] }), inner),
          { a: { x: 1 } },
        ),
      ).toBe(true)
    }
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`p${index}`, inner]))
    expect(accepts({ properties: { ...many, z: { required: ['x'.repeat(100)] } } }, { p0: { a: { x: 1 } } })).toBe(true)
  })

  test('the remaining parts are checked', () => {
    expect(
      accepts(
        nest(3, (schema) => ({ allOf: [schema] }), { type: 'object' }),
        'x',
      ),
    ).toBe(false)
  })

  test('references may be cyclic', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/components/schemas/Node' } } }
    const inlined = inlineSchema({ components: { schemas: { Node: node } } }, { $ref: '#/components/schemas/Node' })
    expect(JSON.stringify(inlined)).toContain('Left out')
    expect(() => readSchema(inlined, 'output', 'the body')).not.toThrow()
  })

  test('a foreign pattern is described, and not run here', () => {
    const named = { properties: { a: { type: 'string', description: 'A name.', pattern: '^(a+)+$' } } }
    expect(inlineSchema({}, named)).toEqual({
      properties: { a: { type: 'string', description: 'A name. Pattern: ^(a+)+$' } },
    })
    const members = { patternProperties: { '^(x+)+$': {} }, additionalProperties: false }
    expect(accepts(members, { xx: 1 })).toBe(true)
    expect(accepts({ not: { pattern: '^b' } }, 'a')).toBe(true)
    expect(accepts({ not: { propertyNames: { pattern: '^b' } } }, { a: 1 })).toBe(true)
  })
})
