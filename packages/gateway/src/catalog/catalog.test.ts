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
  it('merges what servers offer in the order of the configuration, whoever came first', () => {
    const { catalog } = watched()
    catalog.put('two', createCatalog(['b']))
    catalog.put('one', createCatalog(['a']))
    expect(wires(catalog)).toEqual(['one_a', 'two_b'])
    expect(catalog.knows('one')).toBe(true)
    expect(catalog.knows('three')).toBe(false)
  })

  it('gives the same snapshot until something changes', () => {
    const { catalog } = watched()
    catalog.put('one', createCatalog(['a']))
    const { snapshot } = catalog
    expect(catalog.snapshot).toBe(snapshot)
    catalog.put('two', createCatalog([]))
    expect(catalog.snapshot).not.toBe(snapshot)
    expect(snapshot.tools).toHaveLength(1)
  })

  it('keeps the objects of tools that stayed as they were, and takes the rest as it is now', () => {
    const { catalog } = watched()
    catalog.put('one', createCatalog(['a']))
    const before = catalog.serverCatalog('one')
    catalog.put('one', createCatalog(['a'], { prompts: [{ name: 'p' }] }))
    expect(catalog.serverCatalog('one')?.tools).toBe(before?.tools)
    expect(catalog.serverCatalog('one')?.prompts).toEqual([{ name: 'p' }])
    catalog.put('one', createCatalog(['a', 'b']))
    expect(catalog.serverCatalog('one')?.tools).toHaveLength(2)
  })

  it('tells which lists changed, and nothing when none did', () => {
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
  it('says what came, went and changed', () => {
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

  it('names only so many, however many there are', () => {
    const many = createCatalog(Array.from({ length: 5_000 }, (_, index) => `t${index}`))
    expect(buildDiscoveryEvent('one', undefined, many)).toMatchObject({ added: { length: 100 }, tools: 5_000 })
  })

  it('is none where everything stayed as it was', () => {
    expect(buildDiscoveryEvent('one', createCatalog(['a']), createCatalog(['a']))).toBeUndefined()
    expect(buildDiscoveryEvent('one', undefined, createCatalog([]))).toBeUndefined()
  })
})
