import type { JsonObject } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import type { ServerCatalog } from '../upstream/upstream.ts'
import { createCatalog, tool } from './catalog.test-kit.ts'
import { Catalog, type Offer } from './catalog.ts'
import { formatCatalog, parseCatalog, storedToolsOf } from './catalog-format.ts'

const reread = (catalogue: ServerCatalog): ServerCatalog =>
  parseCatalog(formatCatalog(catalogue))?.catalog as ServerCatalog

const offersOf = (catalogue: ServerCatalog): readonly Offer[] => {
  const catalog = new Catalog(['one'], 'prefixed')
  catalog.put('one', catalogue)
  return catalog.snapshot.tools
}

const ODD: readonly JsonObject[] = [
  tool('plain', { description: 'line\nbreak, "quotes", é, \u2028 and \ud800' }),
  tool('__proto__', JSON.parse('{"__proto__":{"a":1}}')),
  { inputSchema: { type: 'object' }, name: 'last' },
  { ...tool('numbered'), 7: 'a key that stands before all others' },
  tool('with output', { outputSchema: { type: 'string' } }),
  tool('says "outputSchema"'),
]

describe('a catalogue that was kept', () => {
  it('offers what the server offered, whatever its tools look like', () => {
    for (const era of ['legacy', 'modern'] as const) {
      const catalogue = createCatalog([], { era, tools: ODD as ServerCatalog['tools'] })
      const fresh = offersOf(JSON.parse(JSON.stringify(catalogue)))
      const kept = offersOf(reread(catalogue))
      const seen = ({ name, wire, recordName, original, definition, legacyOutput, isMcp }: Offer) => ({
        ...{ name, wire, recordName, isMcp },
        // As texts: the order of keys is the server's own, and stays so.
        original: JSON.stringify(original),
        definition: JSON.stringify(definition),
        legacyOutput,
      })
      expect(kept.map(seen)).toEqual(fresh.map(seen))
    }
  })

  it('knows of a tool how it is listed, and has parsed nothing for that', () => {
    const catalogue = reread(createCatalog([], { tools: ODD as ServerCatalog['tools'] }))
    const offers = offersOf(catalogue)
    const printed = offers.flatMap((offer) => offer.listedJson ?? [])
    expect(printed).toHaveLength(3)
    expect(storedToolsOf(catalogue)?.printed(0, 'still a text')).toBeDefined()
    const definitions = offers.filter((offer) => offer.listedJson !== undefined).map(({ definition }) => definition)
    expect(printed).toEqual(definitions.map((definition) => JSON.stringify(definition)))
  })

  it('is the same for a server that says again what it said', () => {
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

  it('tells of nothing new where it is empty', () => {
    const catalog = new Catalog(['one'], 'prefixed')
    const changes: unknown[] = []
    catalog.onChange((change) => changes.push(change))
    catalog.put('one', reread(createCatalog([])))
    expect(changes).toEqual([])
  })
})
