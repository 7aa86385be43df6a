import { describe, expect, it } from 'vitest'
import { checkArgumentName } from './check-argument-name.ts'

const SCHEMA = {
  type: 'object',
  properties: { path: { type: 'string' }, edits: { type: 'array' }, 'dotted.name': {} },
  allOf: [{ $ref: '#/$defs/paged' }],
  $defs: { paged: { properties: { limit: { type: 'number' } } } },
}

describe('the name of an argument in a rule', () => {
  it.each(['path', 'Path', 'edits.*.path', 'dotted.name', 'limit', '*'])('%s is accepted', (name) => {
    expect(checkArgumentName(name, SCHEMA)).toBeUndefined()
  })

  it.each([
    ['paht', 'it takes no argument "paht". Did you mean "path"?'],
    ['branch', 'it takes no argument "branch".'],
    ['edit.*.path', 'it takes no argument "edit.*.path".'],
    ['constructor', 'it takes no argument "constructor".'],
  ])('%s is reported', (name, message) => {
    expect(checkArgumentName(name, SCHEMA)).toBe(message)
  })

  it.each([
    undefined,
    {},
    { type: 'object', properties: {} },
    { properties: { a: {} }, patternProperties: { '^x': {} } },
  ])('is accepted if the schema is open: %j', (schema) => {
    expect(checkArgumentName('paht', schema)).toBeUndefined()
  })
})
