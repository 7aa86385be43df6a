import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../json/json-value.ts'
import { compileSimpleSchema, type SchemaValidator } from './simple-schema.ts'
import { formatViolations } from './violation.ts'

function plain(schema: JsonObject): SchemaValidator {
  const compiled = compileSimpleSchema(schema)
  if (compiled === undefined) throw new Error('it is not plain')
  return compiled
}

function explain(schema: JsonObject, value: Json): string {
  const compiled = plain(schema)
  expect(compiled.accepts(value)).toBe(false)
  return formatViolations(compiled.violations(value))
}

const SEARCH: JsonObject = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: {
    query: { type: 'string', minLength: 2, description: 'what to look for', format: 'uri' },
    limit: { type: 'integer', minimum: 1, maximum: 50, default: 10 },
    order: { enum: ['newest', 'oldest'] },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 3, uniqueItems: true },
    since: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  },
  required: ['query'],
  additionalProperties: false,
}

describe('a simple schema', () => {
  it('accepts valid values', () => {
    const value = { query: 'sally', limit: 50, order: 'oldest', tags: ['a', 'b'], since: null }
    expect(plain(SEARCH).accepts(value)).toBe(true)
  })

  it('reports what is wrong, where, and what is expected', () => {
    expect(explain(SEARCH, { querry: 'x', limit: 'ten', order: 'new', tags: ['a', 1], since: 5 })).toBe(
      'query is missing; querry is not known there (did you mean "query"?); limit must be an integer and is "ten"; ' +
        'order must be one of "newest", "oldest" and is "new"; tags[1] must be a string and is 1; and more',
    )
    expect(explain(SEARCH, { query: 'q', limit: 51, tags: ['a', 'a', 'b', 'c'], since: [] })).toBe(
      'query must have at least 2 characters; limit must be at most 50 and is 51; tags must have at most 3 items and has 4; ' +
        'tags must not hold the same item twice; since must be a string or null and is an array of 0',
    )
  })

  it('explains the alternative that was most likely meant', () => {
    const circle = { type: 'object', properties: { kind: { const: 'circle' }, r: { type: 'number' } }, required: ['r'] }
    const box = { type: 'object', properties: { kind: { const: 'box' }, w: { type: 'number' } }, required: ['w'] }
    const schema = { properties: { shape: { oneOf: [circle, box, { type: 'null' }] } } }
    expect(explain(schema, { shape: { kind: 'box' } })).toBe('shape.w is missing')
    expect(explain(schema, { shape: 'box' })).toBe('shape must be an object or null and is "box"')
    expect(explain({ properties: { x: { anyOf: [{ const: 'a' }, { const: 'b' }] } } }, { x: 'c' })).toBe(
      'x must be one of "a", "b" and is "c"',
    )
    expect(explain({ properties: { x: { oneOf: [{ type: 'number' }, { minimum: 2 }] } } }, { x: 5 })).toBe(
      'x must fit exactly one of its alternatives and fits several',
    )
  })

  it('counts characters, not code units', () => {
    const schema = plain({ properties: { x: { minLength: 2, maxLength: 2 } } })
    expect(schema.accepts({ x: '😀😀' })).toBe(true)
    expect(schema.accepts({ x: '😀' })).toBe(false)
    expect(schema.accepts({ x: '😀😀😀' })).toBe(false)
  })

  it('follows references, also circular ones', () => {
    const tree = {
      properties: { root: { $ref: '#/$defs/node' } },
      $defs: { node: { type: 'object', required: ['name'], properties: { next: { $ref: '#/$defs/node' } } } },
    }
    expect(plain(tree).accepts({ root: { name: 'a', next: { name: 'b' } } })).toBe(true)
    expect(explain(tree, { root: { name: 'a', next: { next: { name: 'c' } } } })).toBe('root.next.name is missing')
    expect(plain({ properties: { inner: { $ref: '#' } }, maxProperties: 1 }).accepts({ inner: { a: 1, b: 2 } })).toBe(
      false,
    )
  })

  it('ignores inherited members', () => {
    const own = plain({
      required: ['constructor'],
      properties: { toString: { type: 'number' } },
      additionalProperties: false,
    })
    expect(own.accepts({})).toBe(false)
    expect(own.accepts(JSON.parse('{"constructor":1}'))).toBe(false)
    const proto = plain(JSON.parse('{"properties":{"__proto__":{"type":"string"}},"additionalProperties":false}'))
    expect(proto.accepts(JSON.parse('{"__proto__":"x"}'))).toBe(true)
    expect(proto.accepts(JSON.parse('{"__proto__":1}'))).toBe(false)
    expect(plain({ additionalProperties: false }).accepts(JSON.parse('{"__proto__":1}'))).toBe(false)
  })

  it('treats an undefined member as missing, as JSON does', () => {
    const schema = plain({
      required: ['a'],
      properties: { a: { type: 'string' } },
      additionalProperties: false,
      maxProperties: 1,
    })
    expect(schema.accepts({ a: 'x', b: undefined } as JsonObject as Json)).toBe(true)
    expect(schema.accepts({ a: undefined } as JsonObject as Json)).toBe(false)
  })

  it.each<[string, JsonObject]>([
    ['a pattern', { properties: { a: { pattern: 'x' } } }],
    ['a negation', { not: {} }],
    ['a condition', { if: {} }],
    ['a tuple', { prefixItems: [{}] }],
    ['a list of item schemas', { items: [{}] }],
    ['an inner $id', { properties: { a: { $id: 'x' } } }],
    ['an external reference', { $ref: 'https://example.com/x' }],
    ['a reference to nothing', { $ref: '#/$defs/gone' }],
    ['a reference to a nested part', { $ref: '#/properties/a', properties: { a: {} } }],
    ['a custom dialect', { $schema: 'https://example.com/dialect' }],
    ['an unknown type', { type: 'text' }],
    ['no type at all', { type: [] }],
    ['a limit that is a string', { properties: { a: { minimum: '1' } } }],
    ['a limit of an old draft', { properties: { a: { minimum: 1, exclusiveMinimum: true } } }],
    ['a negative length', { minLength: -1 }],
    ['an invalid list of names', { required: 'a' }],
    ['properties that are a list', { properties: [] }],
    ['an empty enum', { enum: [] }],
    ['an empty choice', { anyOf: [] }],
    ['a schema that is a number', { properties: { a: 1 } }],
    ['nullable', { properties: { a: { type: 'string', nullable: true } } }],
  ])('does not support %s', (_, schema) => {
    expect(compileSimpleSchema(schema)).toBeUndefined()
  })
})

/** `x` is a choice between two equal schemas, nested `times` times. */
function doubling(times: number): JsonObject {
  const names = Array.from({ length: times }, (_, index) => index)
  const half = (index: number): JsonObject => ({ $ref: `#/$defs/d${index + 1}` })
  const defs = names.map((index) => [`d${index}`, { anyOf: [half(index), half(index)] }])
  return {
    properties: { x: { $ref: '#/$defs/d0' } },
    $defs: { ...Object.fromEntries(defs), [`d${times}`]: { type: 'string' } },
  }
}

describe('the cost limit of a simple schema', () => {
  it('ends a choice that doubles thirty times, and its explanation too', () => {
    const schema = plain(doubling(30))
    expect(schema.accepts({ x: 1 })).toBeUndefined()
    expect(schema.accepts({ x: 'fits at once' })).toBe(true)
    expect(schema.violations({ x: 1 }).length).toBeLessThan(10)
  })

  it('ends circular references', () => {
    expect(plain({ $ref: '#' }).accepts({})).toBeUndefined()
    expect(
      plain({ anyOf: [{ $ref: '#/$defs/a' }], $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } }).accepts({}),
    ).toBeUndefined()
  })

  it('gives no result for very long values', () => {
    const list = plain({ properties: { x: { items: { type: 'number' }, uniqueItems: true } } })
    expect(list.accepts({ x: [1, 2, 3, '3'].slice(0, 3) })).toBe(true)
    expect(list.accepts({ x: Array.from({ length: 100_000 }, (_, index) => index) })).toBeUndefined()
    expect(plain({ properties: { x: { uniqueItems: true } } }).accepts({ x: [{}, {}] })).toBe(false)
    expect(plain({ properties: { x: { maxLength: 9_000_000 } } }).accepts({ x: 'x'.repeat(9_500_000) })).toBeUndefined()
  })

  it('is not reached by large strings and lists that need no check', () => {
    const schema = plain({ properties: { x: { type: 'string', maxLength: 100 }, y: { type: 'array', items: {} } } })
    expect(schema.accepts({ x: 'x'.repeat(10_000_000), y: [] })).toBe(false)
    expect(schema.accepts({ y: Array(1_000_000).fill(1) })).toBe(true)
  })

  it('is separate from the limit for the depth of a schema', () => {
    let schema: JsonObject = { type: 'string' }
    for (let depth = 0; depth < 40; depth++) schema = { anyOf: [schema, { type: 'number', minimum: depth }] }
    expect(plain({ properties: { x: schema } }).accepts({ x: true })).toBe(false)
    for (let depth = 0; depth < 10_000; depth++) schema = { anyOf: [schema] }
    expect(compileSimpleSchema({ properties: { x: schema } })).toBeUndefined()
  })
})
