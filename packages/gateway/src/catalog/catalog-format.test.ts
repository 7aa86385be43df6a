import type { JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import type { ServerCatalog } from '../upstream/upstream.ts'
import { createCatalog, tool } from './catalog.test-kit.ts'
import { Catalog, type Offer } from './catalog.ts'
import { formatCatalog, parseCatalog, storedToolsOf } from './catalog-format.ts'

const reread = (serverCatalog: ServerCatalog): ServerCatalog =>
  parseCatalog(formatCatalog(serverCatalog))?.catalog as ServerCatalog

const offersOf = (serverCatalog: ServerCatalog): readonly Offer[] => {
  const catalog = new Catalog(['one'], 'prefixed')
  catalog.put('one', serverCatalog)
  return catalog.snapshot.tools
}

const UNUSUAL: readonly JsonObject[] = [
  tool('plain', { description: 'line\nbreak, "quotes", é, \u2028 and \ud800' }),
  tool('__proto__', JSON.parse('{"__proto__":{"a":1}}')),
  { inputSchema: { type: 'object' }, name: 'last' },
  { ...tool('numbered'), 7: 'a key that comes before all others' },
  tool('with output', { outputSchema: { type: 'string' } }),
  tool('says "outputSchema"'),
]

describe('a stored catalog', () => {
  it('offers what the server offered, whatever its tools look like', () => {
    for (const era of ['legacy', 'modern'] as const) {
      const serverCatalog = createCatalog([], { era, tools: UNUSUAL as ServerCatalog['tools'] })
      const fresh = offersOf(JSON.parse(JSON.stringify(serverCatalog)))
      const stored = offersOf(reread(serverCatalog))
      const visibleParts = ({ name, wire, recordName, original, definition, legacyOutput, isMcp }: Offer) => ({
        ...{ name, wire, recordName, isMcp },
        // Compared as strings: the order of keys is the server's own and must not change.
        original: JSON.stringify(original),
        definition: JSON.stringify(definition),
        legacyOutput,
      })
      expect(stored.map(visibleParts)).toEqual(fresh.map(visibleParts))
    }
  })

  it('knows the listed form of each tool without parsing it', () => {
    const serverCatalog = reread(createCatalog([], { tools: UNUSUAL as ServerCatalog['tools'] }))
    const offers = offersOf(serverCatalog)
    const printed = offers.flatMap((offer) => offer.listedJson ?? [])
    expect(printed).toHaveLength(3)
    expect(storedToolsOf(serverCatalog)?.printed(0, 'not parsed yet')).toBeDefined()
    const definitions = offers.filter((offer) => offer.listedJson !== undefined).map(({ definition }) => definition)
    expect(printed).toEqual(definitions.map((definition) => JSON.stringify(definition)))
  })

  it('is unchanged if the server repeats the same catalog', () => {
    const catalog = new Catalog(['one'], 'prefixed')
    const changes: unknown[] = []
    catalog.put('one', reread(createCatalog(['a', 'b'])))
    catalog.onChange((change) => changes.push(change))
    const { snapshot } = catalog
    const [before] = snapshot.tools
    catalog.put('one', createCatalog(['a', 'b']))
    expect(catalog.snapshot).toBe(snapshot)
    expect(catalog.serverCatalog('one')?.tools[0]).toBe(before?.original)
    catalog.put('one', createCatalog(['a', 'c']))
    expect(changes).toEqual([{ tools: true, resources: false, prompts: false }])
    expect(catalog.snapshot.tools.map(({ name }) => name)).toEqual(['a', 'c'])
  })

  it('reports no change if it is empty', () => {
    const catalog = new Catalog(['one'], 'prefixed')
    const changes: unknown[] = []
    catalog.onChange((change) => changes.push(change))
    catalog.put('one', reread(createCatalog([])))
    expect(changes).toEqual([])
  })
})
