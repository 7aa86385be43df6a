import { describe, expect, it } from 'vitest'
import { parseYamlFile } from './parse-yaml-file.ts'

const read = (text: string): unknown => {
  const parsed = parseYamlFile(text)
  return parsed.ok ? parsed.value : `${parsed.line}:${parsed.column} ${parsed.problem}`
}

describe('YAML', () => {
  it('returns plain values, with aliases resolved', () => {
    expect(read('a: &x {b: 1}\r\nc: *x\n# end\n')).toEqual({ a: { b: 1 }, c: { b: 1 } })
    expect(read('')).toEqual({})
    expect(read('# only a comment\n')).toEqual({})
  })

  it('preserves keys with a special meaning in JavaScript', () => {
    const value = read('__proto__: {command: a}\nconstructor: {command: b}\n')
    expect(Object.entries(value as object)).toEqual([
      ['__proto__', { command: 'a' }],
      ['constructor', { command: 'b' }],
    ])
  })

  it.each([
    ['a: 1\n\tb: 2\n', /^2:\d+ /],
    ['a: "sk-secret', /^1:\d+ a character is missing here/],
    ['a: *nowhere\n', /^\d+:\d+ .*alias/],
    ['a: 1\n---\nb: 2\n', /^2:1 the file contains several documents/],
  ])('reports the location of an error, and quotes nothing: %j', (text, problem) => {
    expect(read(text)).toMatch(problem)
    expect(read(text)).not.toContain('secret')
  })

  it('does not resolve aliases that expand to a huge tree', () => {
    const bomb = ['a0: &a0 [x, x]', ...Array.from({ length: 40 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`)]
    expect(read(bomb.join('\n'))).toMatch(/^1:1 its aliases/)
  })

  it('may be nested', () => {
    expect(read(`${'['.repeat(100)}${']'.repeat(100)}`)).toBeInstanceOf(Array)
  })

  it.each([
    ['lists in brackets', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['lists with dashes', `${'- '.repeat(50_000)}x`],
    ['mappings', Array.from({ length: 2_000 }, (_, n) => `${' '.repeat(n)}a:`).join('\n')],
    ['keys', `${'? '.repeat(20_000)}x`],
  ])('reports %s that are nested too deeply', (_, text) => {
    expect(read(text)).toMatch(/^\d+:\d+ this is nested more than 200 levels deep\.$/)
  })
})
