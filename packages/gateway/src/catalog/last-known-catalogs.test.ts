import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { computePin } from '../governance/governance.ts'
import type { CatalogCache } from '../store/store.ts'
import { stdioConfig } from '../upstream/stdio/stdio.test-kit.ts'
import type { ServerCatalog } from '../upstream/upstream.ts'
import { createCatalog } from './catalog.test-kit.ts'
import { formatCatalog, storedToolsOf } from './catalog-format.ts'
import { LastKnownCatalogs } from './last-known-catalogs.ts'

function createCache(): CatalogCache & { readonly stored: Map<string, string> } {
  const stored = new Map<string, string>()
  return {
    stored,
    load: (server, fingerprint) => stored.get(`${server} ${fingerprint}`),
    save: (server, fingerprint, serverCatalog) => void stored.set(`${server} ${fingerprint}`, serverCatalog),
  }
}

/** The stored text without its digest; and the digest put before it again. */
const bodyOf = (text: string): string => text.slice(text.indexOf('\n') + 1)
const signed = (body: string): string => `${createHash('sha256').update(body).digest('hex')}\n${body}`

describe(`the last known catalog (${promise('GW-3')})`, () => {
  it('comes back as it was, with the era that the server spoke', () => {
    const cache = createCache()
    const serverCatalog = createCatalog(['a', '__proto__'], { era: 'modern' })
    new LastKnownCatalogs(cache).save(stdioConfig(), serverCatalog)
    const catalogs = new LastKnownCatalogs(cache)
    expect(catalogs.lastKnown('hostile')?.era).toBeUndefined()
    expect(catalogs.load(stdioConfig())).toEqual(JSON.parse(JSON.stringify(serverCatalog)))
    expect(catalogs.lastKnown('hostile')?.era).toBe('modern')
  })

  it('includes the pins of its tools, so that a start need not compute them', () => {
    const cache = createCache()
    const { tools } = createCatalog(['a', 'b'])
    new LastKnownCatalogs(cache).save(stdioConfig(), createCatalog(['a', 'b']))
    const [place = '', text = ''] = [...cache.stored][0] ?? []
    const pin = computePin({ name: 'b', original: tools[1] ?? {} })
    expect(text).toContain(pin)
    cache.stored.set(place, signed(bodyOf(text).replace(pin, 'sha256-stored')))
    const known = new LastKnownCatalogs(cache).load(stdioConfig())?.tools ?? []
    expect(known.map((original) => computePin({ name: String(original.name), original }))).toEqual([
      computePin({ name: 'a', original: tools[0] ?? {} }),
      'sha256-stored',
    ])
  })

  it('is written only if a server reported something new', () => {
    const cache = createCache()
    const serverCatalog = createCatalog(['a'], { era: 'modern', freshUntil: { tools: 1 } })
    new LastKnownCatalogs(cache).save(stdioConfig(), serverCatalog)
    const text = [...cache.stored.values()][0] ?? ''
    const writes = (stored: string, ...told: readonly ServerCatalog[]): number => {
      const written: string[] = []
      const catalogs = new LastKnownCatalogs({
        load: () => stored,
        save: (_server, _source, now) => void written.push(now),
      })
      catalogs.load(stdioConfig())
      for (const each of told) catalogs.save(stdioConfig(), each)
      return written.length
    }
    expect(writes(text, serverCatalog, { ...serverCatalog, freshUntil: { tools: 2 }, instructions: undefined })).toBe(0)
    expect(writes(text, { ...serverCatalog, instructions: 'new' }, createCatalog(['a', 'b']))).toBe(2)
    const unpinned = signed(bodyOf(text).replace('"of":"', '"of":"more,'))
    expect(writes(unpinned, serverCatalog, serverCatalog)).toBe(1)
  })

  it('computes pins again if they cover other parts than people review now, or if their number differs from the tools', () => {
    const serverCatalog = createCatalog(['a', 'b'])
    const made = serverCatalog.tools.map((original) => computePin({ name: String(original.name), original }))
    const text = bodyOf(formatCatalog(serverCatalog))
    const changed = [
      text.replace('"of":"title', '"of":"name'),
      text.replace(`"${made[0]}",`, ''),
      text.replace(/"pins":\{.*?\}/, '"pins":null'),
      text.replace(/"pins":\{.*?\}/, '"pins":[]'),
    ]
    for (const body of changed) {
      expect(body).not.toBe(text)
      const catalogs = new LastKnownCatalogs({ load: () => signed(body), save: () => {} })
      const known = catalogs.load(stdioConfig())?.tools ?? []
      expect(known.map((original) => computePin({ name: String(original.name), original }))).toEqual(made)
    }
  })

  it('is not used for another program with the same id', () => {
    const catalogs = new LastKnownCatalogs(createCache())
    catalogs.save(stdioConfig({ args: ['a'] }), createCatalog([]))
    expect(catalogs.load(stdioConfig({ args: ['b'] }))).toBeUndefined()
    expect(catalogs.load(stdioConfig({ args: ['a'], cwd: '/elsewhere' }))).toBeUndefined()
    expect(catalogs.load(stdioConfig({ args: ['a'], env: { TOKEN: 'renewed' } }))).toBeDefined()
  })

  it('is undefined if the stored text cannot be read or has another shape', () => {
    const good = bodyOf(formatCatalog(createCatalog(['a'])))
    const texts = [
      ...['', '\n', '{', JSON.stringify(createCatalog(['a'])), good, `${createHash('sha256').digest('hex')}\n${good}`],
      ...['', 'null', '[]', '{}', `${good}\n{}`, good.split('\n')[0] ?? ''].map(signed),
      signed(good.replace('"legacy"', '"other"')),
      signed(good.replace('"names":["a"]', '"names":{}')),
    ]
    for (const text of texts) {
      const cache = { load: () => text, save: () => {} }
      const catalogs = new LastKnownCatalogs(cache)
      expect(catalogs.load(stdioConfig()), text).toBeUndefined()
      expect(catalogs.lastKnown('hostile')?.era).toBeUndefined()
    }
  })

  it('is not used if any byte differs from what was written', () => {
    const text = formatCatalog(createCatalog(['a', 'b']))
    const load = (stored: string) => new LastKnownCatalogs({ load: () => stored, save: () => {} }).load(stdioConfig())
    expect(load(text)).toBeDefined()
    for (const damaged of [text.replace('"b"', '"b'), `${text} `, text.slice(0, -1), text.slice(1)])
      expect(load(damaged), damaged).toBeUndefined()
  })

  it('returns each tool as one object, whoever reads it first, and its text only until all are parsed', () => {
    const cache = createCache()
    new LastKnownCatalogs(cache).save(stdioConfig(), createCatalog(['a', 'b']))
    const known = new LastKnownCatalogs(cache).load(stdioConfig()) as ServerCatalog
    const stored = storedToolsOf(known)
    expect(stored?.printed(1, 'x')).toBe('{"name":"x","inputSchema":{"type":"object"}}')
    const second = stored?.tool(1)
    expect(known.tools[1]).toBe(second)
    expect(known.tools).toBe(known.tools)
    expect(stored?.printed(1, 'x')).toBeUndefined()
  })
})
