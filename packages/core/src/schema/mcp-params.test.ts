import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { Json, JsonObject } from '../json/json-value.ts'
import { formatParam, type McpParam, matchesParam, readMcpParams } from './mcp-params.ts'

const property = (name: Json, type: Json = 'string'): JsonObject => ({ type, 'x-mcp-header': name })
const schemaOf = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
})

function paramsOf(schema: JsonObject): readonly McpParam[] {
  const read = readMcpParams(schema)
  if ('problem' in read) throw new Error(read.problem)
  return read.params
}

const problemOf = (schema: JsonObject): string | undefined => {
  const read = readMcpParams(schema)
  return 'problem' in read ? read.problem : undefined
}

describe(`arguments that are repeated in headers (${promise('GW-17')})`, () => {
  it('are found at any depth of properties', () => {
    const schema = schemaOf({
      region: property('Region'),
      where: { type: 'object', properties: { zone: property('X-Zone', 'integer') } },
      plain: { type: 'string' },
    })
    expect(paramsOf(schema)).toEqual([
      { header: 'mcp-param-region', path: ['region'], type: 'string' },
      { header: 'mcp-param-x-zone', path: ['where', 'zone'], type: 'integer' },
    ])
  })

  it('are not found in properties or values that only look like annotations', () => {
    const schema = schemaOf({
      'x-mcp-header': { type: 'string', default: { 'x-mcp-header': ' ' }, enum: [{ 'x-mcp-header': 1 }] },
    })
    expect(paramsOf(schema)).toEqual([])
    expect(paramsOf({ type: 'object' })).toEqual([])
  })

  it.each([
    ['an empty name', property('')],
    ['a space in the name', property('My Region')],
    ['a colon in the name', property('Region:Primary')],
    ['a name beyond ASCII', property('Région')],
    ['a control character in the name', property('Region\t1')],
    ['a line break after the name', property('Region\n')],
    ['a name that is not a string', property(7)],
    ['an object', property('Data', 'object')],
    ['a list', property('Data', 'array')],
    ['null', property('Data', 'null')],
    ['a number that need not be an integer', property('Score', 'number')],
    ['one of several types', property('Data', ['string', 'null'])],
    ['no type at all', { 'x-mcp-header': 'Data' }],
  ])('cannot have %s', (_what, value) => {
    expect(problemOf(schemaOf({ value }))).toContain('x-mcp-header')
  })

  it('need unique names, in any case', () => {
    expect(problemOf(schemaOf({ a: property('Region'), b: property('Region') }))).toContain('twice')
    expect(problemOf(schemaOf({ a: property('MyField'), b: { properties: { c: property('myfield') } } }))).toContain(
      'twice',
    )
  })

  it.each([
    ['items', schemaOf({ list: { type: 'array', items: property('A') } })],
    ['a list of items', schemaOf({ list: { prefixItems: [{ type: 'string' }, property('A')] } })],
    ['anyOf', schemaOf({ a: { anyOf: [property('A')] } })],
    ['oneOf at the root', schemaOf({}, { oneOf: [schemaOf({ a: property('A') })] })],
    ['else', schemaOf({}, { if: {}, else: schemaOf({ a: property('A') }) })],
    ['definitions', schemaOf({ a: { $ref: '#/$defs/a' } }, { $defs: { a: property('A') } })],
    ['patterns', schemaOf({}, { patternProperties: { '^a': property('A') } })],
    ['the root itself', { ...schemaOf({}), 'x-mcp-header': 'A' }],
  ])('must not be reached through %s', (_what, schema) => {
    expect(problemOf(schema)).toContain('through properties alone')
  })
})

describe(`the value of such a header (${promise('GW-17')})`, () => {
  const [region, count, force, inner] = paramsOf(
    schemaOf({
      region: property('Region'),
      count: property('Count', 'integer'),
      force: property('Force', 'boolean'),
      constructor: { properties: { name: property('Inner') } },
    }),
  ) as [McpParam, McpParam, McpParam, McpParam]

  it('is the argument as a string, or undefined if it is missing', () => {
    expect(formatParam(region, { region: '' })).toBe('')
    expect(formatParam(count, { count: -7 })).toBe('-7')
    expect(formatParam(force, { force: false })).toBe('false')
    for (const args of [{}, { region: null }, { region: ['x'] }, { region: {} }])
      expect(formatParam(region, args)).toBeUndefined()
    expect(formatParam(inner, {})).toBeUndefined()
    expect(formatParam(inner, { constructor: { name: 'own' } } as unknown as JsonObject)).toBe('own')
  })

  it('matches what was formatted from it, and nothing else', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (given, other) => {
        expect(matchesParam(region, { region: given }, given)).toBe(true)
        expect(matchesParam(region, { region: given }, other)).toBe(given === other)
      }),
    )
    expect(matchesParam(count, { count: 42 }, '42.0')).toBe(true)
    expect(matchesParam(count, { count: 42 }, '0x2a')).toBe(false)
    expect(matchesParam(count, { count: 0 }, '')).toBe(false)
    expect(matchesParam(force, { force: true }, 'TRUE')).toBe(false)
    expect(matchesParam(region, {}, '')).toBe(false)
  })
})
