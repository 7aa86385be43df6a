import { describe, expect, it } from 'vitest'
import { compilePattern } from './linear-pattern.ts'

const compiled = (source: string) => {
  const pattern = compilePattern(source)
  if (typeof pattern !== 'function') throw new Error(pattern.problem)
  return pattern
}

describe('patterns with linear time', () => {
  it('match anywhere, unless they are anchored', () => {
    expect(compiled('b+')('abc')).toBe(true)
    expect(compiled('^b+$')('abc')).toBe(false)
    expect(compiled('(?i)DROP\\s+TABLE')('drop \n table')).toBe(true)
  })

  it('match the end of the text, not the position before its last line break', () => {
    expect(compiled('^ok$')('ok')).toBe(true)
    expect(compiled('^ok$')('ok\n')).toBe(false)
  })

  it.each(['(', '[', 'a{1001}', '(a{1000}){1000}', '(?=x)', '(?<!x)y', '(a)\\1', '*', 'x'.repeat(1001)])(
    'are not made of %s',
    (source) => {
      expect(compilePattern(source)).toEqual({ problem: expect.stringMatching(/\S/) })
    },
  )

  it.each(['(a+)+$', '(a|aa)*c', '(x+x+)+y', '(?:a|b)*a(?:a|b){20}c', '^(([a-z])+.)+[A-Z]([a-z])+$'])(
    'do not explode as %s',
    (source) => {
      expect(compiled(source)(`${'ab'.repeat(50_000)}!`)).toBe(false)
    },
  )

  it('accept shorter texts the larger they are', () => {
    expect(compiled('rm\\s+-rf').longest).toBeGreaterThan(1_000_000)
    expect(compiled('a[ab]{1,900}[cd]').longest).toBeLessThan(20_000)
  })
})
