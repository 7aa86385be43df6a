import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nameGlob } from './glob.ts'

/** The same rules, written so that they are plainly right and too slow to use. */
function matchesSlowly(pattern: string, name: string): boolean {
  const [wanted] = pattern
  if (wanted === undefined) return name === ''
  const rest = pattern.slice(1)
  if (wanted === '*') return matchesSlowly(rest, name) || (name !== '' && matchesSlowly(pattern, name.slice(1)))
  return name !== '' && (wanted === '?' || wanted === name[0]) && matchesSlowly(rest, name.slice(1))
}

describe('globs over names', () => {
  it('stand for any run with * and for one character with ?', () => {
    expect(nameGlob('read_*')('read_file')).toBe(true)
    expect(nameGlob('read_*')('read_')).toBe(true)
    expect(nameGlob('read_*')('xread_file')).toBe(false)
    expect(nameGlob('*a*b')('xaab')).toBe(true)
    expect(nameGlob('a?c')('abc')).toBe(true)
    expect(nameGlob('a?c')('ac')).toBe(false)
  })

  it('take everything else for itself', () => {
    expect(nameGlob('a.c')('abc')).toBe(false)
    expect(nameGlob('[ab]*')('a')).toBe(false)
    expect(nameGlob('(a+)+$*')('(a+)+$!')).toBe(true)
    expect(nameGlob('')('')).toBe(true)
    expect(nameGlob('')('a')).toBe(false)
  })

  it('match exactly what the rules say', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 })
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 })
    fc.assert(
      fc.property(pattern, text, (glob, name) => {
        expect(nameGlob(glob)(name)).toBe(matchesSlowly(glob, name))
      }),
      { numRuns: 1_000 },
    )
  })

  it('do not explode on a pattern made to', { timeout: 5_000 }, () => {
    expect(nameGlob(`${'a*'.repeat(500)}b`)('a'.repeat(5_000))).toBe(false)
  })
})
