import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileNameGlob } from './name-glob.ts'

/** The same rules in a simple form that is clearly correct but too slow to use. */
function matchesSlowly(pattern: string, name: string): boolean {
  const [wanted] = pattern
  if (wanted === undefined) return name === ''
  const rest = pattern.slice(1)
  if (wanted === '*') return matchesSlowly(rest, name) || (name !== '' && matchesSlowly(pattern, name.slice(1)))
  return name !== '' && (wanted === '?' || wanted === name[0]) && matchesSlowly(rest, name.slice(1))
}

describe('globs over names', () => {
  it('match any run with * and one character with ?', () => {
    expect(compileNameGlob('read_*')('read_file')).toBe(true)
    expect(compileNameGlob('read_*')('read_')).toBe(true)
    expect(compileNameGlob('read_*')('xread_file')).toBe(false)
    expect(compileNameGlob('*a*b')('xaab')).toBe(true)
    expect(compileNameGlob('a?c')('abc')).toBe(true)
    expect(compileNameGlob('a?c')('ac')).toBe(false)
  })

  it('match everything else literally', () => {
    expect(compileNameGlob('a.c')('abc')).toBe(false)
    expect(compileNameGlob('[ab]*')('a')).toBe(false)
    expect(compileNameGlob('(a+)+$*')('(a+)+$!')).toBe(true)
    expect(compileNameGlob('')('')).toBe(true)
    expect(compileNameGlob('')('a')).toBe(false)
  })

  it('match exactly what the rules say', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 })
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 })
    fc.assert(
      fc.property(pattern, text, (glob, name) => {
        expect(compileNameGlob(glob)(name)).toBe(matchesSlowly(glob, name))
      }),
      { numRuns: 1_000 },
    )
  })

  it('stay fast on a hostile pattern', { timeout: 5_000 }, () => {
    expect(compileNameGlob(`${'a*'.repeat(500)}b`)('a'.repeat(5_000))).toBe(false)
  })
})
