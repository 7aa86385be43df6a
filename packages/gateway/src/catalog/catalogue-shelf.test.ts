import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { CatalogueCache } from '../store/store.ts'
import { stdioConfig } from '../upstream/stdio/stdio.test-kit.ts'
import { catalogueOf } from './catalogue.test-kit.ts'
import { CatalogueShelf } from './catalogue-shelf.ts'

function createCache(): CatalogueCache & { readonly kept: Map<string, string> } {
  const kept = new Map<string, string>()
  return {
    kept,
    load: (server, fingerprint) => kept.get(`${server} ${fingerprint}`),
    save: (server, fingerprint, catalogue) => void kept.set(`${server} ${fingerprint}`, catalogue),
  }
}

describe(`the last known catalogue (${promise('GW-3')})`, () => {
  it('comes back as it was, with the era that the server spoke', () => {
    const cache = createCache()
    const catalogue = catalogueOf(['a', '__proto__'], { era: 'modern' })
    new CatalogueShelf(cache).save(stdioConfig(), catalogue)
    const shelf = new CatalogueShelf(cache)
    expect(shelf.lastKnown('hostile')?.era).toBeUndefined()
    expect(shelf.load(stdioConfig())).toEqual(JSON.parse(JSON.stringify(catalogue)))
    expect(shelf.lastKnown('hostile')?.era).toBe('modern')
  })

  it('is not taken for that of another program under the same id', () => {
    const shelf = new CatalogueShelf(createCache())
    shelf.save(stdioConfig({ args: ['a'] }), catalogueOf([]))
    expect(shelf.load(stdioConfig({ args: ['b'] }))).toBeUndefined()
    expect(shelf.load(stdioConfig({ args: ['a'], cwd: '/elsewhere' }))).toBeUndefined()
    expect(shelf.load(stdioConfig({ args: ['a'], env: { TOKEN: 'renewed' } }))).toBeDefined()
  })

  it('is nothing where what was kept cannot be read, or is of another shape', () => {
    const good = JSON.stringify(catalogueOf([]))
    const texts = [
      '',
      '{',
      'null',
      '[]',
      '{}',
      good.replace('"legacy"', '"other"'),
      good.replace('"tools":[]', '"tools":{}'),
    ]
    for (const text of texts) {
      const cache = { load: () => text, save: () => {} }
      const shelf = new CatalogueShelf(cache)
      expect(shelf.load(stdioConfig()), text).toBeUndefined()
      expect(shelf.lastKnown('hostile')?.era).toBeUndefined()
    }
  })
})
