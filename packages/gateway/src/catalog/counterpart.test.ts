import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createCatalog, tool } from './catalog.test-kit.ts'
import { formatCatalog, parseCatalog } from './catalog-format.ts'
import { CatalogSnapshot } from './catalog-snapshot.ts'
import { compareOnCounterpart, findCounterpartDrift } from './counterpart.ts'

const LISTED = createCatalog(['read', 'export', 'send'], {
  prompts: [{ name: 'greet', arguments: [{ name: 'city' }] }, { name: 'part' }],
  resources: [{ uri: 'notes://all', name: 'all' }],
})
const ISOLATED = createCatalog([], {
  tools: [tool('send', { description: 'Sends' }), tool('read', { _meta: { 'example/port': 8_001 } }), tool('more')],
  prompts: [{ name: 'greet', arguments: [{ name: 'country' }] }],
})

describe(`the isolated instance of a server (${promise('SEN-15')})`, () => {
  it('is compared by the parts of tools that people review', () => {
    expect(findCounterpartDrift(LISTED, ISOLATED)).toEqual({ missing: ['export'], differing: ['send'] })
    expect(findCounterpartDrift(LISTED, LISTED)).toBeUndefined()
  })

  it('is compared with a stored list, too', () => {
    const stored = parseCatalog(formatCatalog(LISTED))
    expect(stored && findCounterpartDrift(stored.catalog, ISOLATED)).toEqual({
      missing: ['export'],
      differing: ['send'],
    })
    expect(stored && findCounterpartDrift(stored.catalog, LISTED)).toBeUndefined()
  })

  it('may list a tool on some connections only', () => {
    const revealed = { tools: [tool('export')], prompts: [], resources: [], resourceTemplates: [] }
    expect(findCounterpartDrift(LISTED, { ...ISOLATED, revealed })).toEqual({ missing: [], differing: ['send'] })
  })

  it('is compared for each tool and prompt; resources are its own affair', () => {
    const { tools, prompts, resources } = new CatalogSnapshot([{ server: 'data', catalog: LISTED }], 'prefixed')
    const compared = [...tools, ...prompts, ...resources].map((offer) => [
      offer.name,
      compareOnCounterpart(offer, ISOLATED),
    ])
    expect(Object.fromEntries(compared)).toEqual({
      read: undefined,
      export: 'missing',
      send: 'differing',
      greet: 'differing',
      part: 'missing',
      'notes://all': undefined,
    })
  })
})
