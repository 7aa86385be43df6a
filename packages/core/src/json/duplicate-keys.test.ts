import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasDuplicateKey } from './duplicate-keys.ts'

describe('a duplicate key in an object', () => {
  it.each([
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '{"b":[{"a":1,"a":1}]}',
    '{"b":{"c":{"a":{},"x":[],"a":[]}}}',
    '[{"":0,"":0}]',
    '{"a\\"":1,"a\\"":2}',
    ' { "a" : "}" , "a" : "{" } ',
  ])('is found in %s', (text) => {
    expect(JSON.parse(text)).toBeDefined()
    expect(hasDuplicateKey(text)).toBe(true)
  })

  it.each([
    '{"a":"a","b":"a"}',
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":["a","a"]}',
    '{"a":"\\",\\"a\\":1"}',
    '"a"',
  ])('is not found in %s', (text) => {
    expect(hasDuplicateKey(text)).toBe(false)
  })

  it('is never found in output of JSON.stringify, and always found if a member is repeated', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.string(), (value, name) => {
        expect(hasDuplicateKey(JSON.stringify(value))).toBe(false)
        const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`
        expect(hasDuplicateKey(`[[],{${member},${JSON.stringify(`${name}x`)}:0,${member}}]`)).toBe(true)
      }),
    )
  })
})
