import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createMcpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'
import { RawClient } from '../raw-client.test-kit.ts'
import { readSchema } from './read-schema.ts'

const serve = (input: object, toolsOfOthers = false) => {
  const server = createMcpServer('schemas', { toolsOfOthers })
  server.tool('call', { description: '', permission: READ, input: { type: 'object', ...input } }, () => 'called')
  return async (args: object): Promise<string> => {
    const { result } = await new RawClient(server).requestModern('tools/call', {
      name: 'call',
      arguments: args as never,
    })
    return result.content[0].text
  }
}

const deep = { rows: { type: 'array', items: { type: 'object', properties: { id: { type: 'integer' } } } } }

describe(promise('KIT-18'), () => {
  test('a value is checked completely, however large it is', async () => {
    const call = serve({ properties: deep })
    const rows = Array.from({ length: 30_000 }, (_, id) => ({ id }))
    expect(await call({ rows })).toBe('called')
    expect(await call({ rows: [...rows, { id: 'x' }] })).toContain('rows[30000].id')
  })

  test('a value that is too large to be checked is refused', async () => {
    const call = serve({
      properties: { rows: { type: 'array', items: { anyOf: [...Array(500).fill({ const: {} }), { type: 'array' }] } } },
    })
    expect(await call({ rows: Array(20_000).fill([]) })).toContain('too large')
  })

  test.each<[string, object, object]>([
    ['pattern', { properties: { ...deep, name: { pattern: '^a+$' } } }, { name: 'b' }],
    ['not', { properties: { ...deep, name: { not: { type: 'null' } } } }, { name: null }],
    ['patternProperties', { properties: deep, patternProperties: { '^x-': { type: 'string' } } }, { 'x-a': 1 }],
    ['propertyNames', { properties: deep, propertyNames: { pattern: '^[a-z]+$' } }, { A: 1 }],
    ['prefixItems', { properties: { ...deep, at: { prefixItems: [{ type: 'number' }] } } }, { at: ['x'] }],
    ['contains', { properties: { ...deep, at: { contains: { const: 1 }, minContains: 2 } } }, { at: [1] }],
    ['if', { properties: deep, if: { required: ['a'] }, else: { required: ['b'] } }, {}],
    ['dependentRequired', { properties: deep, dependentRequired: { a: ['b'] } }, { a: 1 }],
    ['dependentSchemas', { properties: deep, dependentSchemas: { a: { required: ['b'] } } }, { a: 1 }],
    ['$ref to a pointer', { properties: { ...deep, at: { $ref: '#/properties/rows' } } }, { at: 1 }],
    [
      '$ref to an anchor',
      { $defs: { x: { $anchor: 'y', type: 'null' } }, properties: { at: { $ref: '#y' }, ...deep } },
      { at: 1 },
    ],
    [
      'uniqueItems',
      { properties: { ...deep, at: { uniqueItems: true } } },
      {
        at: [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      },
    ],
  ])('%s is checked, and switches off no other check', async (_, input, wrong) => {
    const call = serve(input)
    expect(await call(wrong)).not.toBe('called')
    expect(await call({ ...wrong, rows: [{ id: 'x' }] })).not.toBe('called')
    expect(await call({ rows: [{ id: 'x' }], b: 1 })).toContain('rows[0].id')
  })

  test.each([
    ['unevaluatedProperties', { unevaluatedProperties: false }],
    ['$dynamicRef', { properties: { a: { $dynamicRef: '#x' } } }],
    ['pattern', { properties: { a: { anyOf: [{ pattern: '(' }] } } }],
    ['type', { properties: { a: { type: 'strnig' } } }],
    ['$ref', { properties: { a: { $ref: 'https://example.org/x' } } }],
    ['$schema', { $schema: 'https://example.org/mine' }],
    ['nullable', { properties: { a: { type: 'string', nullable: true } } }],
  ])('%s, which cannot be checked, is an error when the tool is registered', (keyword, input) => {
    expect(() => serve(input)).toThrow(`The schema of the input of the tool "call" cannot be checked: "${keyword}"`)
    expect(() => readSchema(input, 'output', 'the output')).toThrow(`"${keyword}"`)
  })

  test('a foreign tool is used unchanged: the gateway checks its arguments', async () => {
    expect(await serve({ unevaluatedProperties: false }, true)({ a: 1 })).toBe('called')
  })

  test('no supported keyword lets an invalid member beside it pass', () => {
    const keyword = fc.constantFrom<object>(
      { pattern: 'x' },
      { not: { const: 'y' } },
      { minLength: 1 },
      { if: { const: 1 }, else: { type: 'string' } },
      { contains: {} },
      { propertyNames: { pattern: '^x' } },
      { dependentRequired: { x: ['y'] } },
      {},
    )
    fc.assert(
      fc.property(fc.array(keyword, { maxLength: 4 }), (keywords) => {
        const properties = Object.fromEntries(keywords.map((schema, index) => [`k${index}`, schema]))
        const { check } = readSchema({ type: 'object', properties: { ...properties, ...deep } }, 'input', 'it')
        expect(check({ rows: [{ id: 1.5 }] })).toHaveProperty('wrong')
        expect(check({ rows: [{ id: 1 }] })).toHaveProperty('value')
      }),
    )
  })
})
