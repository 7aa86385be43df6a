import { expect, it } from 'vitest'
import { takesPath } from './takes-path.ts'

const TEXT = { type: 'string' }
const ofNames = (...names: readonly string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, TEXT])),
})

it.each([
  ofNames('path'),
  ofNames('query', 'output'),
  { properties: { edits: { type: 'array', items: ofNames('file_name') } } },
  { properties: { where: { $ref: '#/$defs/place' } }, $defs: { place: ofNames('folder') } },
  { properties: { what: { type: 'string', format: 'uri' } } },
])('%j is the schema of a tool that takes a path', (schema) => {
  expect(takesPath(schema)).toBe(true)
})

it.each([undefined, {}, ofNames(), { ...ofNames('sql'), patternProperties: { '^x': TEXT } }])(
  '%j leaves open whether it does',
  (schema) => {
    expect(takesPath(schema)).toBe(true)
  },
)

it.each([
  ofNames('sql'),
  ofNames('sql', 'limit', 'database'),
  { properties: { options: ofNames('depth'), tags: { type: 'array', items: TEXT } } },
  {
    properties: { tree: { $ref: '#/$defs/node' } },
    $defs: { node: { properties: { left: { $ref: '#/$defs/node' } } } },
  },
])('%j is the schema of a tool that takes no path', (schema) => {
  expect(takesPath(schema)).toBe(false)
})

it('a schema that refers to itself in a thousand ways may take a path', () => {
  const names = Array.from({ length: 500 }, (_, at) => `n${at}`)
  const node = { properties: Object.fromEntries(names.map((name) => [name, { $ref: '#/$defs/node' }])) }
  expect(takesPath({ ...node, $defs: { node } })).toBe(true)
})
