import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from './json-value.ts'
import { sameJson } from './same-json.ts'

describe('sameJson', () => {
  it('treats a value that was printed and parsed as equal, for any order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = JSON.parse(JSON.stringify(value), (_, part) =>
          typeof part === 'object' && part !== null && !Array.isArray(part)
            ? Object.fromEntries(Object.entries(part).reverse())
            : part,
        )
        expect(sameJson(value as Json, copy)).toBe(true)
      }),
    )
  })

  it('distinguishes similar values', () => {
    const alike: Json[] = [0, false, '', null, [], {}, [0], { 0: 0 }, '0', { a: null }, { b: null }, [[]], [{}], [null]]
    for (const [left, one] of alike.entries())
      for (const [right, other] of alike.entries()) expect(sameJson(one, other)).toBe(left === right)
  })

  it('ignores inherited members', () => {
    expect(sameJson({ constructor: 1 }, { other: 1 })).toBe(false)
    expect(sameJson(JSON.parse('{"__proto__":{}}'), {})).toBe(false)
    expect(sameJson(JSON.parse('{"__proto__":{}}'), { a: {} })).toBe(false)
  })

  it('treats both zeros as equal', () => {
    expect(sameJson(0, -0)).toBe(true)
  })
})
