import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { escapeGlob, expandBraces, matchesGlob, readPathGlobs } from './path-glob.ts'
import { normalizeAbsolute } from './posix-path.ts'

function covers(pattern: string, path: string): boolean {
  const globs = readPathGlobs(pattern)
  if ('problem' in globs) throw new Error(globs.problem)
  return globs.some((glob) => matchesGlob(glob, path, glob.head))
}

/** The same rules in a simple form that is clearly correct but too slow to use. */
function coversSlowly(pattern: readonly string[], names: readonly string[]): boolean {
  const [wanted, ...rest] = pattern
  if (wanted === undefined) return names.length === 0
  if (wanted === '**') return coversSlowly(rest, names) || (names.length > 0 && coversSlowly(pattern, names.slice(1)))
  return names[0] !== undefined && nameFits(wanted, names[0]) && coversSlowly(rest, names.slice(1))
}

function nameFits(wanted: string, name: string): boolean {
  const [first] = wanted
  if (first === undefined) return name === ''
  const rest = wanted.slice(1)
  if (first === '*') return nameFits(rest, name) || (name !== '' && nameFits(wanted, name.slice(1)))
  return name !== '' && (first === '?' || first === name[0]) && nameFits(rest, name.slice(1))
}

describe('globs over paths', () => {
  it('match exactly what the rules say', () => {
    const part = fc.constantFrom('**', '*', 'a', 'b', '?', 'a*', '*b', 'a*b*')
    const name = fc.constantFrom('a', 'b', 'ab', 'aab', 'abab')
    fc.assert(
      fc.property(fc.array(part, { maxLength: 5 }), fc.array(name, { maxLength: 5 }), (parts, names) => {
        const last = parts.at(-1) ?? ''
        const wanted = /[*?]/.test(last) ? parts : [...parts, '**']
        expect(covers(`/${parts.join('/')}`, `/${names.join('/')}`)).toBe(coversSlowly(wanted, names))
      }),
      { numRuns: 2_000 },
    )
  })

  it('stay fast on a hostile pattern', { timeout: 5_000 }, () => {
    expect(covers(`/${'**/'.repeat(200)}x*`, `/${'a/'.repeat(2_000)}a`)).toBe(false)
    expect(covers(`/${'a*'.repeat(400)}b`, `/${'a'.repeat(4_000)}`)).toBe(false)
    expect(readPathGlobs(`/${'{a,b}'.repeat(20)}`)).toHaveProperty('problem')
    expect(readPathGlobs('x'.repeat(2_000))).toHaveProperty('problem')
  })

  it('match literally if they are escaped', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'a*?[]{},\\!-') }), (name) => {
        expect(covers(`/x/${escapeGlob(name)}`, normalizeAbsolute(`/x/${name}`))).toBe(true)
        expect(covers(`/x/${escapeGlob(name)}z`, normalizeAbsolute(`/x/${name}y`))).toBe(false)
      }),
    )
  })

  it.each([
    ['/[]]', '/]', true],
    ['/[!]]', '/]', false],
    ['/[a-]', '/-', true],
    ['/[^a]', '/b', true],
    ['/[😀-😂]', '/😁', true],
    ['/?', '/😁', true],
    ['/a**b', '/axxb', true],
    ['/a**b', '/a/b', false],
    ['/*', '/.x', true],
    ['/**', '/', true],
  ])('%s against %s', (pattern, path, expected) => {
    expect(covers(pattern, path)).toBe(expected)
  })
})

describe('braces', () => {
  it.each([
    ['a{b,c}d', ['abd', 'acd']],
    ['{a,b}{c,d}', ['ac', 'ad', 'bc', 'bd']],
    ['{a,{b,c}x}', ['a', 'bx', 'cx']],
    ['a{,b}', ['a', 'ab']],
    ['\\{a,b}', ['\\{a,b}']],
    ['{a\\,b}', ['a\\,b']],
    ['a}b', ['a}b']],
  ])('expand %s', (text, expected) => {
    expect(expandBraces(text, 10)).toEqual(expected)
  })

  it.each(['{a', '{a{b}', '{1,2,3}{1,2,3}{1,2,3}'])('are not expanded in %s', (text) => {
    expect(expandBraces(text, 10)).toBeUndefined()
  })

  it('survive thousands of them', () => {
    expect(expandBraces('{'.repeat(2_000) + '}'.repeat(2_000), 10)).toEqual([''])
    expect(expandBraces('{}'.repeat(2_000), 10)).toEqual([''])
    expect(expandBraces('{a,b}'.repeat(800), 10)).toBeUndefined()
  })
})
