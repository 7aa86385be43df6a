import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseToml } from './parse-toml.ts'

const read = (text: string): unknown => {
  const parsed = parseToml(text)
  return parsed.ok ? parsed.value : `${parsed.line}:${parsed.column} ${parsed.problem}`
}

describe('TOML', () => {
  it('returns plain values: dates as strings, large integers as numbers', () => {
    expect(read('a = 1979-05-27T07:32:00Z\nb = 9007199254740993\nc = [1, 2.5]\nd.e = "x"\r\n# end')).toEqual({
      a: '1979-05-27T07:32:00.000Z',
      b: 9007199254740992,
      c: [1, 2.5],
      d: { e: 'x' },
    })
    expect(read('')).toEqual({})
  })

  it('preserves keys with a special meaning in JavaScript', () => {
    const value = read('[s.__proto__]\ncommand = "a"\n[s.constructor]\ncommand = "b"\n') as { s: object }
    expect(Object.entries(value.s)).toEqual([
      ['__proto__', { command: 'a' }],
      ['constructor', { command: 'b' }],
    ])
  })

  it.each([
    ['a = 1\nb = [1,,2]\n', /^2:8 /],
    ['a = 1\na = 2\n', /^2:1 trying to redefine an already defined table or value\.$/],
    ['k = "sk-secret', /^1:\d+ unfinished string\.$/],
  ])('reports the location of an error, and quotes nothing: %j', (text, problem) => {
    expect(read(text)).toMatch(problem)
    expect(read(text)).not.toContain('secret')
  })

  it.each([
    ['lists', `a = ${'['.repeat(100_000)}`],
    ['inline tables', `a = ${'{b='.repeat(100_000)}`],
    ['dotted keys', `${'a.'.repeat(10_000)}b = 1`],
    ['tables', `[${'a.'.repeat(10_000)}b]`],
  ])('reports %s that are nested too deeply', (_, text) => {
    expect(read(text)).toMatch(/^\d+:\d+ .*nested/)
  })

  it('returns for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'[]{}=.,"\'\\#\n a1-:T'), maxLength: 60 }), (text) => {
        expect(() => parseToml(text)).not.toThrow()
      }),
    )
  })
})
