import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from './canonical-json.ts'
import { isJsonObject, type Json } from './json-value.ts'

const reversed = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(reversed)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member as Json)]),
  )
}

describe('the canonical JSON of a value', () => {
  it('contains the value, and is the same for any order of members', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (any) => {
        const value = JSON.parse(JSON.stringify(any)) as Json
        expect(JSON.parse(canonicalJson(value))).toEqual(value)
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value))
      }),
    )
  })

  it('sorts members by name as strings, also numbers and __proto__', () => {
    const canonical = (text: string): string => canonicalJson(JSON.parse(text) as Json)
    expect(canonical('{"b":{"10":1,"9":2,"":3},"a":0}')).toBe('{"a":0,"b":{"":3,"10":1,"9":2}}')
    expect(canonical('[{"_":{},"__proto__":{"y":1,"x":2}}]')).toBe('[{"_":{},"__proto__":{"x":2,"y":1}}]')
  })

  it('does not depend on the members beside it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (any) => {
        const value = JSON.parse(JSON.stringify(any)) as Json
        expect(canonicalJson({ '0': 0, value })).toBe(`{"0":0,"value":${canonicalJson(value)}}`)
      }),
    )
  })

  it('differs for arrays in another order', () => {
    expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]))
  })
})
