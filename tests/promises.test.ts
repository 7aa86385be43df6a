import { describe, expect, it } from 'vitest'
import { filesBelow, textOf } from './harness/repository.ts'
import type { Promised } from './promises/promised.ts'
import { PROMISES, promise } from './promises.ts'

const CITATION = /\bpromise\(\s*'([^']*)'\s*\)/g
const listed = Object.entries<Promised>(PROMISES)

describe('the promises', () => {
  it('are each cited by a test that proves them', () => {
    const uncited = Object.keys(PROMISES).filter((id) => !citations().has(id))
    expect(uncited, 'promises that no test cites').toEqual([])
  })

  it('are the only ones that tests cite', () => {
    const unlisted = [...citations()].filter(([id]) => !Object.hasOwn(PROMISES, id))
    expect(unlisted, 'cited, but not below tests/promises').toEqual([])
  })

  it('say what is missing if and only if they are partial', () => {
    const wrong = listed.filter(([, { state, missing }]) => (state === 'partial') !== (missing !== undefined))
    expect(wrong.map(([id]) => id)).toEqual([])
  })

  it('cannot be cited by a name that is not listed', () => {
    expect(promise('GW-6')).toBe('GW-6')
    expect(() => promise('GW-999' as 'GW-6')).toThrow('GW-999')
    expect(() => promise('constructor' as 'GW-6')).toThrow('constructor')
  })
})

/** Which test files cite each promise. */
function citations(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  const tests = [...filesBelow('packages'), ...filesBelow('tests')].filter((path) => path.endsWith('.test.ts'))
  for (const path of tests.filter((path) => path !== 'tests/promises.test.ts')) {
    for (const [, id = ''] of textOf(path).matchAll(CITATION)) found.set(id, [...(found.get(id) ?? []), path])
  }
  return found
}
