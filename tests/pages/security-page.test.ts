import { describe, expect, it } from 'vitest'
import { textOf } from '../harness/repository.ts'
import type { Promised } from '../promises/promised.ts'
import { PROMISES } from '../promises.ts'

const PROTECTED = '## What is protected'
const NOT_PROTECTED = '## What is not protected yet'
const ID = /\b[A-Z]+-\d+\b/g

const table: Readonly<Record<string, Promised>> = PROMISES
const stateOf = (id: string): string => table[id]?.state ?? 'not built'

/** The bullets below a heading of level two, up to the next one. */
function bulletsBelow(heading: string): readonly string[] {
  const [, rest = ''] = textOf('SECURITY.md').split(`${heading}\n`)
  const [section = ''] = rest.split(/^## /m)
  return section.split('\n').filter((line) => line.startsWith('- '))
}

const idsIn = (lines: readonly string[]): readonly string[] => [
  ...new Set(lines.flatMap((line) => line.match(ID) ?? [])),
]

describe('SECURITY.md', () => {
  const claims = bulletsBelow(PROTECTED)
  const gaps = bulletsBelow(NOT_PROTECTED)

  it('names the promises for each protection', () => {
    expect(claims.length).toBeGreaterThan(15)
    expect(claims.filter((line) => idsIn([line]).length === 0)).toEqual([])
  })

  it('claims nothing that is not built', () => {
    expect(idsIn(claims).filter((id) => stateOf(id) === 'not built')).toEqual([])
  })

  it('names no gap that has been closed', () => {
    expect(gaps.length).toBeGreaterThan(5)
    expect(idsIn(gaps).filter((id) => stateOf(id) === 'built')).toEqual([])
  })

  it('names what is missing for each partial protection', () => {
    const partial = idsIn(claims).filter((id) => stateOf(id) === 'partial')
    expect(partial.filter((id) => !idsIn(gaps).includes(id))).toEqual([])
  })
})
