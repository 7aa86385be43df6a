import type { ToolEntry } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCatalog } from '../../catalog/catalog.test-kit.ts'
import { Catalog } from '../../catalog/catalog.ts'
import { EntryIndex } from './entry-index.ts'

const word = fc.constantFrom('a', '_a', 'mcp__a', 'mcp_', 'mcp', 'a__b', '_', 'a/b', '*')
const key = fc.constantFrom(
  'mcp__a__a',
  'mcp__a',
  'mcp___a',
  'mcp__a/a',
  'a',
  'mcp_a',
  'a/a',
  'mcp__a*',
  'mcp__mcp__a__a',
)
const entryOf = (written: string): ToolEntry => ({ key: written, line: 1, fields: {}, lines: {} })

describe('the entries of tools.yaml by name', () => {
  it('are looked up by one name only if no other name of the tool could match more', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(word, { minLength: 1, maxLength: 3 }),
        fc.uniqueArray(word, { minLength: 1, maxLength: 3 }),
        fc.array(key, { maxLength: 4 }),
        fc.constantFrom('prefixed' as const, 'bare' as const),
        (servers, tools, keys, naming) => {
          const catalog = new Catalog(servers, naming)
          for (const server of servers) catalog.put(server, createCatalog(tools))
          const index = new EntryIndex(keys.map(entryOf), catalog.snapshot)
          for (const offer of catalog.snapshot.tools) {
            if (!index.hasOnlyCanonicalName(offer)) continue
            const all = [...index.namesOf(offer), ...index.sharedNamesOf(offer)]
            expect(index.find(all)).toEqual(index.find([offer.recordName]))
          }
        },
      ),
    )
  })

  it('are looked up by one name if discovery wrote all of them', () => {
    const catalog = new Catalog(['a'], 'prefixed')
    catalog.put('a', createCatalog(['b']))
    const [offer] = catalog.snapshot.tools
    const isNamedOnce = (keys: readonly string[]): boolean =>
      offer !== undefined && new EntryIndex(keys.map(entryOf), catalog.snapshot).hasOnlyCanonicalName(offer)
    expect(isNamedOnce(['mcp__a__b', 'mcp__other__c'])).toBe(true)
    for (const other of ['a/b', 'b', 'mcp_b', 'mcp__a__*']) expect(isNamedOnce(['mcp__a__b', other]), other).toBe(false)
  })
})
