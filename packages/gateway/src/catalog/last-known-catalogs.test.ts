import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { pinOf } from '../governance/governance.ts'
import type { CatalogCache } from '../store/store.ts'
import { stdioConfig } from '../upstream/stdio/stdio.test-kit.ts'
import type { ServerCatalog } from '../upstream/upstream.ts'
import { createCatalog } from './catalog.test-kit.ts'
import { formatCatalog, storedToolsOf } from './catalog-format.ts'
import { LastKnownCatalogs } from './last-known-catalogs.ts'

function createCache(): CatalogCache & { readonly kept: Map<string, string> } {
  const kept = new Map<string, string>()
  return {
    kept,
    load: (server, fingerprint) => kept.get(`${server} ${fingerprint}`),
    save: (server, fingerprint, catalogue) => void kept.set(`${server} ${fingerprint}`, catalogue),
  }
}

/** What is kept, without the digest of it; and the digest put before it again. */
const bodyOf = (text: string): string => text.slice(text.indexOf('\n') + 1)
const signed = (body: string): string => `${createHash('sha256').update(body).digest('hex')}\n${body}`

describe(`the last known catalogue (${promise('GW-3')})`, () => {
  it('comes back as it was, with the era that the server spoke', () => {
    const cache = createCache()
    const catalogue = createCatalog(['a', '__proto__'], { era: 'modern' })
    new LastKnownCatalogs(cache).save(stdioConfig(), catalogue)
    const shelf = new LastKnownCatalogs(cache)
    expect(shelf.lastKnown('hostile')?.era).toBeUndefined()
    expect(shelf.load(stdioConfig())).toEqual(JSON.parse(JSON.stringify(catalogue)))
    expect(shelf.lastKnown('hostile')?.era).toBe('modern')
  })

  it('brings the pins of its tools along, so that a start need not make them', () => {
    const cache = createCache()
    const { tools } = createCatalog(['a', 'b'])
    new LastKnownCatalogs(cache).save(stdioConfig(), createCatalog(['a', 'b']))
    const [place = '', text = ''] = [...cache.kept][0] ?? []
    const pin = pinOf({ name: 'b', original: tools[1] ?? {} })
    expect(text).toContain(pin)
    cache.kept.set(place, signed(bodyOf(text).replace(pin, 'sha256-kept')))
    const known = new LastKnownCatalogs(cache).load(stdioConfig())?.tools ?? []
    expect(known.map((original) => pinOf({ name: String(original.name), original }))).toEqual([
      pinOf({ name: 'a', original: tools[0] ?? {} }),
      'sha256-kept',
    ])
  })

  it('is written only where a server told something new', () => {
    const cache = createCache()
    const catalogue = createCatalog(['a'], { era: 'modern', freshUntil: { tools: 1 } })
    new LastKnownCatalogs(cache).save(stdioConfig(), catalogue)
    const text = [...cache.kept.values()][0] ?? ''
    const writes = (stored: string, ...told: readonly ServerCatalog[]): number => {
      const written: string[] = []
      const shelf = new LastKnownCatalogs({
        load: () => stored,
        save: (_server, _source, now) => void written.push(now),
      })
      shelf.load(stdioConfig())
      for (const each of told) shelf.save(stdioConfig(), each)
      return written.length
    }
    expect(writes(text, catalogue, { ...catalogue, freshUntil: { tools: 2 }, instructions: undefined })).toBe(0)
    expect(writes(text, { ...catalogue, instructions: 'new' }, createCatalog(['a', 'b']))).toBe(2)
    const unpinned = signed(bodyOf(text).replace('"of":"', '"of":"more,'))
    expect(writes(unpinned, catalogue, catalogue)).toBe(1)
  })

  it('makes pins anew that are of something else than people review now, or not as many as the tools', () => {
    const catalogue = createCatalog(['a', 'b'])
    const made = catalogue.tools.map((original) => pinOf({ name: String(original.name), original }))
    const text = bodyOf(formatCatalog(catalogue))
    const changed = [
      text.replace('"of":"title', '"of":"name'),
      text.replace(`"${made[0]}",`, ''),
      text.replace(/"pins":\{.*?\}/, '"pins":null'),
      text.replace(/"pins":\{.*?\}/, '"pins":[]'),
    ]
    for (const body of changed) {
      expect(body).not.toBe(text)
      const shelf = new LastKnownCatalogs({ load: () => signed(body), save: () => {} })
      const known = shelf.load(stdioConfig())?.tools ?? []
      expect(known.map((original) => pinOf({ name: String(original.name), original }))).toEqual(made)
    }
  })

  it('is not taken for that of another program under the same id', () => {
    const shelf = new LastKnownCatalogs(createCache())
    shelf.save(stdioConfig({ args: ['a'] }), createCatalog([]))
    expect(shelf.load(stdioConfig({ args: ['b'] }))).toBeUndefined()
    expect(shelf.load(stdioConfig({ args: ['a'], cwd: '/elsewhere' }))).toBeUndefined()
    expect(shelf.load(stdioConfig({ args: ['a'], env: { TOKEN: 'renewed' } }))).toBeDefined()
  })

  it('is nothing where what was kept cannot be read, or is of another shape', () => {
    const good = bodyOf(formatCatalog(createCatalog(['a'])))
    const texts = [
      ...['', '\n', '{', JSON.stringify(createCatalog(['a'])), good, `${createHash('sha256').digest('hex')}\n${good}`],
      ...['', 'null', '[]', '{}', `${good}\n{}`, good.split('\n')[0] ?? ''].map(signed),
      signed(good.replace('"legacy"', '"other"')),
      signed(good.replace('"names":["a"]', '"names":{}')),
    ]
    for (const text of texts) {
      const cache = { load: () => text, save: () => {} }
      const shelf = new LastKnownCatalogs(cache)
      expect(shelf.load(stdioConfig()), text).toBeUndefined()
      expect(shelf.lastKnown('hostile')?.era).toBeUndefined()
    }
  })

  it('is not used where it is not byte for byte what was written', () => {
    const text = formatCatalog(createCatalog(['a', 'b']))
    const load = (stored: string) => new LastKnownCatalogs({ load: () => stored, save: () => {} }).load(stdioConfig())
    expect(load(text)).toBeDefined()
    for (const damaged of [text.replace('"b"', '"b'), `${text} `, text.slice(0, -1), text.slice(1)])
      expect(load(damaged), damaged).toBeUndefined()
  })

  it('gives each tool as one object, whoever looks first, and its text only until all were looked into', () => {
    const cache = createCache()
    new LastKnownCatalogs(cache).save(stdioConfig(), createCatalog(['a', 'b']))
    const known = new LastKnownCatalogs(cache).load(stdioConfig()) as ServerCatalog
    const kept = storedToolsOf(known)
    expect(kept?.printed(1, 'x')).toBe('{"name":"x","inputSchema":{"type":"object"}}')
    const second = kept?.tool(1)
    expect(known.tools[1]).toBe(second)
    expect(known.tools).toBe(known.tools)
    expect(kept?.printed(1, 'x')).toBeUndefined()
  })
})
