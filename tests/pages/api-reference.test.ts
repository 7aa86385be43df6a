import { describe, expect, it } from 'vitest'
import { PAGES, readPackage, renderPackage } from '../../scripts/api-reference.mjs'
import { textOf } from '../harness/repository.ts'

describe.each(PAGES)('$page', ({ folder, page }) => {
  it('is what `npm run docs:api` writes', () => {
    expect(textOf(page)).toBe(renderPackage(folder))
  })

  it.each(readPackage(folder))('has a sentence for everything that $entry exports', ({ symbols }) => {
    expect(symbols.length).toBeGreaterThan(0)
    expect(symbols.filter(({ sentence }) => !/\w.*\./s.test(sentence)).map(({ name }) => name)).toEqual([])
  })
})
