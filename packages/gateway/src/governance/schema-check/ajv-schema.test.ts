import { formatViolations, type Json, type JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { compileSchema } from './ajv-schema.ts'

const explain = (schema: JsonObject, value: Json): string => formatViolations(compileSchema(schema)(value) ?? [])

describe('compileSchema', () => {
  it('reports violations with the same messages as the simple validator', () => {
    const schema = {
      type: 'object',
      properties: {
        id: { type: 'string', pattern: '^[a-z]+$' },
        count: { type: 'integer', maximum: 5 },
        list: { type: 'array', minItems: 1, items: { enum: ['a', 'b'] } },
      },
      required: ['id'],
      additionalProperties: false,
    }
    expect(compileSchema(schema)({ id: 'abc', count: 5, list: ['a'] })).toBeUndefined()
    expect(explain(schema, { count: 6, list: ['c'], cuont: 1 })).toBe(
      'id is missing; cuont is not known there (did you mean "count"?); count must be at most 5 and is 6; ' +
        'list[0] must be one of "a", "b" and is "c"',
    )
    expect(explain(schema, { id: 'ABC', count: '6', list: [] })).toBe(
      'id must match the pattern "^[a-z]+$"; count must be an integer and is "6"; list must have at least 1 items',
    )
  })

  it.each<[string, JsonObject, Json, string]>([
    ['a negation', { not: { required: ['a'] } }, { a: 1 }, 'the whole breaks the rule "not" of the schema'],
    ['a dependency', { dependentRequired: { a: ['b'] } }, { a: 1 }, 'b is missing'],
    [
      'what is left over',
      { properties: { a: true }, unevaluatedProperties: false },
      { b: 1 },
      'b is not known there (did you mean "a"?)',
    ],
    [
      'a name',
      { propertyNames: { pattern: '^a' } },
      { b: 1 },
      'the whole must match the pattern "^a"; b is not an allowed name there',
    ],
    ['a key of numbers', { patternProperties: { '^[0-9]$': { type: 'null' } } }, { 7: 1 }, '[7] must be null and is 1'],
    [
      'a key with a slash',
      { properties: { 'a/b~': { pattern: 'x' } } },
      { 'a/b~': 'y' },
      '["a/b~"] must match the pattern "x"',
    ],
    [
      'a step',
      { properties: { a: { multipleOf: 0.01 } }, not: false },
      { a: 0.005 },
      'a must be a multiple of 0.01 and is 0.005',
    ],
  ])('explains %s', (_, schema, value, message) => {
    expect(explain(schema, value)).toBe(message)
  })

  it('computes decimal steps exactly', () => {
    expect(compileSchema({ properties: { a: { multipleOf: 0.01 } } })({ a: 19.99 })).toBeUndefined()
  })

  it('ignores formats, and does not accept inherited members', () => {
    expect(compileSchema({ properties: { a: { type: 'string', format: 'uuid' } } })({ a: 'no uuid' })).toBeUndefined()
    expect(explain({ required: ['constructor'] }, {})).toBe('constructor is missing')
  })

  it('reads a schema by its dialect, and a schema without one by the likely dialects', () => {
    const tuple = { properties: { x: { items: [{ type: 'number' }] } } }
    const draft7 = { ...tuple, $schema: 'http://json-schema.org/draft-07/schema#' }
    expect(explain(draft7, { x: ['a'] })).toBe('x[0] must be a number and is "a"')
    expect(explain(tuple, { x: ['a'] })).toBe('x[0] must be a number and is "a"')
    expect(explain({ ...tuple, $schema: 'https://json-schema.org/draft/2019-09/schema' }, { x: ['a'] })).toBe(
      'x[0] must be a number and is "a"',
    )
    expect(() => compileSchema({ ...tuple, $schema: 'https://json-schema.org/draft/2020-12/schema' })).toThrow(
      '/properties/x/items breaks the rule type',
    )
  })

  it('accepts patterns that are valid only without Unicode mode', () => {
    expect(explain({ properties: { a: { pattern: '^[\\w-\\.]+\\-$' } } }, { a: '!' })).toContain('a must match')
  })

  it.each<[string, JsonObject, string]>([
    ['a reference elsewhere', { $ref: 'https://example.com/schema.json' }, "can't resolve reference"],
    ['a reference to nothing', { $ref: '#/$defs/gone' }, "can't resolve reference"],
    ['a keyword with a wrong value', { properties: { a: { type: 'text' } } }, '/properties/a/type breaks the rule'],
    ['a broken pattern', { properties: { a: { pattern: '(' } } }, 'Invalid regular expression'],
    ['an unknown dialect', { $schema: 'https://example.com/dialect' }, 'is not a supported dialect'],
    ['keywords that AJV checks wrongly', { unevaluatedItems: false }, 'unevaluatedItems is not supported'],
  ])('refuses %s', (_, schema, message) => {
    expect(() => compileSchema(schema)).toThrow(message)
  })

  it('does not let a schema refer to another one by its `$id` names', () => {
    compileSchema({ $id: 'https://example.com/one', $defs: { a: { $id: 'https://example.com/part', type: 'null' } } })
    compileSchema({ $id: 'https://example.com/one', type: 'object' })
    expect(() => compileSchema({ $ref: 'https://example.com/part' })).toThrow("can't resolve reference")
  })

  it('never executes code from a schema', () => {
    const names = [
      '"];globalThis.harmed=1;//',
      "'+(globalThis.harmed=1)+'",
      '`;globalThis.harmed=1;`',
      '\\";globalThis.harmed=1//',
    ]
    for (const name of names) {
      const schema = {
        properties: { [name]: { pattern: name.replaceAll(/[^\w ]/g, '\\$&'), const: name, [name]: name } },
        required: [name],
        dependentRequired: { [name]: [name] },
        $defs: { [name]: { enum: [name] } },
        patternProperties: { [name.replaceAll(/[^\w ]/g, '\\$&')]: { title: name } },
        $comment: name,
      }
      expect(compileSchema(schema)({ [name]: 'x' })).not.toHaveLength(0)
    }
    expect(globalThis).not.toHaveProperty('harmed')
  })
})
