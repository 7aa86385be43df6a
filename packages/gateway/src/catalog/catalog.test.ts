import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createCatalog, tool } from './catalog.test-kit.ts'
import { buildDiscoveryEvent, Catalog, type CatalogChange } from './catalog.ts'

function watched(order: readonly string[] = ['one', 'two']) {
  const catalog = new Catalog(order, 'prefixed')
  const changes: CatalogChange[] = []
  const stop = catalog.onChange((change) => void changes.push(change))
  return { catalog, changes, stop }
}

const wires = (catalog: Catalog): readonly string[] => catalog.snapshot.tools.map(({ wire }) => wire)

describe('the catalog', () => {
  it('merges the offers of servers in the order of the configuration, whichever server was first', () => {
    const { catalog } = watched()
    catalog.put('two', createCatalog(['b']))
    catalog.put('one', createCatalog(['a']))
    expect(wires(catalog)).toEqual(['one_a', 'two_b'])
    expect(catalog.knows('one')).toBe(true)
    expect(catalog.knows('three')).toBe(false)
  })

  it('returns the same snapshot until something changes', () => {
    const { catalog } = watched()
    catalog.put('one', createCatalog(['a']))
    const { snapshot } = catalog
    expect(catalog.snapshot).toBe(snapshot)
    catalog.put('two', createCatalog([]))
    expect(catalog.snapshot).not.toBe(snapshot)
    expect(snapshot.tools).toHaveLength(1)
  })

  it('preserves the objects of unchanged tools and replaces the rest', () => {
    const { catalog } = watched()
    catalog.put('one', createCatalog(['a']))
    const before = catalog.serverCatalog('one')
    catalog.put('one', createCatalog(['a'], { prompts: [{ name: 'p' }] }))
    expect(catalog.serverCatalog('one')?.tools).toBe(before?.tools)
    expect(catalog.serverCatalog('one')?.prompts).toEqual([{ name: 'p' }])
    catalog.put('one', createCatalog(['a', 'b']))
    expect(catalog.serverCatalog('one')?.tools).toHaveLength(2)
  })

  it('reports which lists changed, and does not report if none did', () => {
    const { catalog, changes, stop } = watched()
    catalog.put('one', createCatalog(['a']))
    catalog.put('one', createCatalog(['a']))
    catalog.put('one', createCatalog(['a'], { prompts: [{ name: 'p' }] }))
    catalog.put(
      'one',
      createCatalog(['a'], { prompts: [{ name: 'p' }], resourceTemplates: [{ uriTemplate: 'a:{b}' }] }),
    )
    expect(changes).toEqual([
      { tools: true, resources: false, prompts: false },
      { tools: false, resources: false, prompts: true },
      { tools: false, resources: true, prompts: false },
    ])
    stop()
    catalog.put('one', createCatalog([]))
    expect(changes).toHaveLength(3)
  })

  it('forgets servers that a new configuration no longer names', () => {
    const { catalog, changes } = watched()
    catalog.put('one', createCatalog(['a']))
    catalog.put('two', createCatalog(['b']))
    catalog.reconfigure(['two'], 'bare')
    expect(wires(catalog)).toEqual(['b'])
    expect(catalog.knows('one')).toBe(false)
    expect(changes.at(-1)).toEqual({ tools: true, resources: true, prompts: true })
  })
})

describe(`a discovery (${promise('GOV-24')})`, () => {
  it('lists what was added, removed and changed', () => {
    const before = createCatalog(['stays', 'goes', 'changes'])
    const after = createCatalog([], { tools: [tool('stays'), tool('changes', { title: 'New' }), tool('__proto__')] })
    expect(buildDiscoveryEvent('one', before, after)).toEqual({
      type: 'TOOLS_DISCOVERED',
      server: 'one',
      added: ['__proto__'],
      removed: ['goes'],
      changed: ['changes'],
      tools: 3,
    })
  })

  it('names a limited number of tools', () => {
    const many = createCatalog(Array.from({ length: 5_000 }, (_, index) => `t${index}`))
    expect(buildDiscoveryEvent('one', undefined, many)).toMatchObject({ added: { length: 100 }, tools: 5_000 })
  })

  it('is undefined if nothing changed', () => {
    expect(buildDiscoveryEvent('one', createCatalog(['a']), createCatalog(['a']))).toBeUndefined()
    expect(buildDiscoveryEvent('one', undefined, createCatalog([]))).toBeUndefined()
  })
})
