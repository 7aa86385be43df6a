import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { keptPins, pinOf } from '../governance/governance.ts'
import type { CatalogueCache } from '../store/store.ts'
import { stdioConfig } from '../upstream/stdio/stdio.test-kit.ts'
import type { ServerCatalogue } from '../upstream/upstream.ts'
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

  it('brings the pins of its tools along, so that a start need not make them', () => {
    const cache = createCache()
    const { tools } = catalogueOf(['a', 'b'])
    new CatalogueShelf(cache).save(stdioConfig(), catalogueOf(['a', 'b']))
    const [place = '', text = ''] = [...cache.kept][0] ?? []
    const pin = pinOf({ name: 'b', original: tools[1] ?? {} })
    expect(text).toContain(pin)
    cache.kept.set(place, text.replace(pin, 'sha256-kept'))
    const known = new CatalogueShelf(cache).load(stdioConfig())?.tools ?? []
    expect(known.map((original) => pinOf({ name: String(original.name), original }))).toEqual([
      pinOf({ name: 'a', original: tools[0] ?? {} }),
      'sha256-kept',
    ])
  })

  it('is written only where a server told something new', () => {
    const cache = createCache()
    const catalogue = catalogueOf(['a'], { era: 'modern', freshUntil: { tools: 1 } })
    new CatalogueShelf(cache).save(stdioConfig(), catalogue)
    const text = [...cache.kept.values()][0] ?? ''
    const writes = (stored: string, ...told: readonly ServerCatalogue[]): number => {
      const written: string[] = []
      const shelf = new CatalogueShelf({ load: () => stored, save: (_server, _source, now) => void written.push(now) })
      shelf.load(stdioConfig())
      for (const each of told) shelf.save(stdioConfig(), each)
      return written.length
    }
    expect(writes(text, catalogue, { ...catalogue, freshUntil: { tools: 2 }, instructions: undefined })).toBe(0)
    expect(writes(text, { ...catalogue, instructions: 'new' }, catalogueOf(['a', 'b']))).toBe(2)
    expect(writes(JSON.stringify(catalogue), catalogue, catalogue)).toBe(1)
  })

  it('makes pins anew that are of something else than people review now, or not as many as the tools', () => {
    const catalogue = catalogueOf(['a', 'b'])
    const made = catalogue.tools.map((original) => pinOf({ name: String(original.name), original }))
    for (const pins of [{ of: 'name', pins: ['x', 'y'] }, { ...keptPins(catalogue.tools), pins: ['x'] }, [], null, 7]) {
      const shelf = new CatalogueShelf({ load: () => JSON.stringify({ ...catalogue, pins }), save: () => {} })
      const known = shelf.load(stdioConfig())?.tools ?? []
      expect(known.map((original) => pinOf({ name: String(original.name), original }))).toEqual(made)
    }
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
