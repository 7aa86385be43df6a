import { describe, expect, it } from 'vitest'
import { checkArgumentName } from './check-argument-name.ts'

const SCHEMA = {
  type: 'object',
  properties: { path: { type: 'string' }, edits: { type: 'array' }, 'dotted.name': {} },
  allOf: [{ $ref: '#/$defs/paged' }],
  $defs: { paged: { properties: { limit: { type: 'number' } } } },
}

describe('the name of an argument in a rule', () => {
  it.each(['path', 'Path', 'edits.*.path', 'dotted.name', 'limit', '*'])('%s is one that the tool takes', (name) => {
    expect(checkArgumentName(name, SCHEMA)).toBeUndefined()
  })

  it.each([
    ['paht', 'it takes no argument "paht". Did you mean "path"?'],
    ['branch', 'it takes no argument "branch".'],
    ['edit.*.path', 'it takes no argument "edit.*.path".'],
    ['constructor', 'it takes no argument "constructor".'],
  ])('%s is none', (name, told) => {
    expect(checkArgumentName(name, SCHEMA)).toBe(told)
  })

  it.each([
    undefined,
    {},
    { type: 'object', properties: {} },
    { properties: { a: {} }, patternProperties: { '^x': {} } },
  ])('may be one where the schema leaves that open: %j', (schema) => {
    expect(checkArgumentName('paht', schema)).toBeUndefined()
  })
})
