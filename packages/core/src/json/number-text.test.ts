import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonObject } from './json-value.ts'
import { parseExactJson, printExactJson, sameExactJson } from './number-text.ts'

const again = (text: string): string => printExactJson(parseExactJson(text))

describe('the text of numbers', () => {
  it('is the same after parsing and printing, however they are written', () => {
    for (const token of [
      '1.0',
      '9007199254740993',
      '1e400',
      '-1E+2',
      '-0',
      '0.10',
      `1e${'9'.repeat(400)}`,
      '1.5',
      '7',
    ]) {
      const text = `{"a":[${token},{"b":${token},"c":"${token}"}],"1":${token}}`
      const value = parseExactJson(text)
      expect(value).toEqual(JSON.parse(text))
      expect(JSON.parse(printExactJson(value))).toEqual(JSON.parse(text))
      expect(printExactJson(value)).toContain(`[${token},{"b":${token},"c":"${token}"}]`)
      expect(printExactJson(value)).toContain(`"1":${token}`)
    }
  })

  it('is not searched in strings', () => {
    expect(again('["1.0 \\" 1.0","1e5"]')).toBe('["1.0 \\" 1.0","1e5"]')
  })

  it('belongs to the members that still have the number', () => {
    const original = parseExactJson('{"size":1.0,"in":{"max":2.0}}') as JsonObject
    expect(printExactJson({ ...original, uri: 'x' }, original)).toBe('{"size":1.0,"in":{"max":2.0},"uri":"x"}')
    expect(printExactJson({ ...original, size: 5 }, original)).toBe('{"size":5,"in":{"max":2.0}}')
    expect(printExactJson({ gone: undefined, in: original.in as JsonObject })).toBe('{"in":{"max":2.0}}')
  })

  it('can be the only difference of two values', () => {
    const [one, float, same] = ['{"a":{"b":1}}', '{"a":{"b":1.0}}', '{"a":{"b":1.0}}'].map(parseExactJson)
    expect([sameExactJson(one, float), sameExactJson(float, same), sameExactJson(one, { a: { b: 1 } })]).toEqual([
      false,
      true,
      true,
    ])
  })

  it('is compared without regard to the order of members', () => {
    const [one, other] = ['{"a":1.0,"b":[2.0]}', '{"b":[2.0],"a":1.0}'].map(parseExactJson)
    expect(sameExactJson(one, other)).toBe(true)
  })

  it('changes nothing else, for any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        expect(again(text)).toBe(JSON.stringify(JSON.parse(text)))
      }),
    )
  })

  it('is kept within values of any size that a list may have', () => {
    const text = `[${'['.repeat(60)}1.0${']'.repeat(60)},${'1.0,'.repeat(20_000)}2]`
    expect(again(text)).toBe(text)
  })
})
