import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { parseJson } from './parse-json.ts'

const read = (text: string): unknown => {
  const parsed = parseJson(text)
  return parsed.ok ? parsed.value : `${parsed.line}:${parsed.column} ${parsed.problem}`
}

describe(`JSON as agents accept it (${promise('AG-3')})`, () => {
  it('may have comments and trailing commas', () => {
    expect(read('// head\n{ /* a */ "a": [1, 2,], "url": "http://x//y", }\n// foot')).toEqual({
      a: [1, 2],
      url: 'http://x//y',
    })
  })

  it.each(['', '  \r\n\t', '// nothing yet\n'])('is an empty object if there is no value: %j', (text) => {
    expect(read(text)).toEqual({})
  })

  it('preserves keys with a special meaning in JavaScript, with comments and without', () => {
    const text = '{"__proto__": {"command": "a"}, "constructor": {"x": 1}, "toString": 2}'
    for (const value of [read(text), read(`// c\n${text}`)] as object[]) {
      expect(Object.keys(value)).toEqual(['__proto__', 'constructor', 'toString'])
      expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)))
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    }
  })

  it('reads the same with a comment in front', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        const plain = JSON.parse(text)
        expect(JSON.stringify(read(text))).toBe(JSON.stringify(plain))
        expect(JSON.stringify(read(`//c\r\n${text}`))).toBe(JSON.stringify(plain))
      }),
    )
  })

  it.each([
    ['{\n  "a": 1\n  "b": 2\n}', '3:3 expected ",".'],
    ['{\r\n  "a": 1,\r\n  b: 2\r\n}', '3:3 this is not a JSON value. Is a quote missing?'],
    ['{"a": "sk-secret', '1:7 this string does not end: a closing quote is missing.'],
    ['{"a": [1, 2}', '1:12 expected ",".'],
    ['{"a": 1} extra', '1:10 this is not a JSON value. Is a quote missing?'],
    ['/* open', '1:1 this comment does not end.'],
  ])('reports the location of an error, and quotes nothing: %j', (text, problem) => {
    expect(read(text)).toBe(problem)
  })

  it.each([
    ['lists', '['.repeat(300_000)],
    ['closed lists', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['objects', '{"a":'.repeat(100_000)],
    ['objects after a comment', `//\n${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
  ])('reports %s that are nested too deeply', (_, text) => {
    expect(read(text)).toMatch(/^\d:\d+ this is nested more than 200 levels deep\.$/)
  })

  it('returns for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]:,"\\/*\n a1'), maxLength: 60 }), (text) => {
        expect(() => parseJson(text)).not.toThrow()
      }),
    )
  })
})
