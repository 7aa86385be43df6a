import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { Catalog, type CatalogChange, discoveryOf } from './catalog.ts'
import { catalogueOf, tool } from './catalogue.test-kit.ts'

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
    catalog.put('two', catalogueOf(['b']))
    catalog.put('one', catalogueOf(['a']))
    expect(wires(catalog)).toEqual(['one_a', 'two_b'])
    expect(catalog.knows('one')).toBe(true)
    expect(catalog.knows('three')).toBe(false)
  })

  it('gives the same snapshot until something changes', () => {
    const { catalog } = watched()
    catalog.put('one', catalogueOf(['a']))
    const { snapshot } = catalog
    expect(catalog.snapshot).toBe(snapshot)
    catalog.put('two', catalogueOf([]))
    expect(catalog.snapshot).not.toBe(snapshot)
    expect(snapshot.tools).toHaveLength(1)
  })

  it('keeps the objects of tools that stayed as they were, and takes the rest as it is now', () => {
    const { catalog } = watched()
    catalog.put('one', catalogueOf(['a']))
    const before = catalog.catalogueOf('one')
    catalog.put('one', catalogueOf(['a'], { prompts: [{ name: 'p' }] }))
    expect(catalog.catalogueOf('one')?.tools).toBe(before?.tools)
    expect(catalog.catalogueOf('one')?.prompts).toEqual([{ name: 'p' }])
    catalog.put('one', catalogueOf(['a', 'b']))
    expect(catalog.catalogueOf('one')?.tools).toHaveLength(2)
  })

  it('tells which lists changed, and nothing when none did', () => {
    const { catalog, changes, stop } = watched()
    catalog.put('one', catalogueOf(['a']))
    catalog.put('one', catalogueOf(['a']))
    catalog.put('one', catalogueOf(['a'], { prompts: [{ name: 'p' }] }))
    catalog.put('one', catalogueOf(['a'], { prompts: [{ name: 'p' }], resourceTemplates: [{ uriTemplate: 'a:{b}' }] }))
    expect(changes).toEqual([
      { tools: true, resources: false, prompts: false },
      { tools: false, resources: false, prompts: true },
      { tools: false, resources: true, prompts: false },
    ])
    stop()
    catalog.put('one', catalogueOf([]))
    expect(changes).toHaveLength(3)
  })

  it('forgets servers that a new configuration no longer names', () => {
    const { catalog, changes } = watched()
    catalog.put('one', catalogueOf(['a']))
    catalog.put('two', catalogueOf(['b']))
    catalog.arrange(['two'], 'bare')
    expect(wires(catalog)).toEqual(['b'])
    expect(catalog.knows('one')).toBe(false)
    expect(changes.at(-1)).toEqual({ tools: true, resources: true, prompts: true })
  })
})

describe(`a discovery (${promise('GOV-24')})`, () => {
  it('says what came, went and changed', () => {
    const before = catalogueOf(['stays', 'goes', 'changes'])
    const after = catalogueOf([], { tools: [tool('stays'), tool('changes', { title: 'New' }), tool('__proto__')] })
    expect(discoveryOf('one', before, after)).toEqual({
      type: 'TOOLS_DISCOVERED',
      server: 'one',
      added: ['__proto__'],
      removed: ['goes'],
      changed: ['changes'],
      tools: 3,
    })
  })

  it('names only so many, however many there are', () => {
    const many = catalogueOf(Array.from({ length: 5_000 }, (_, index) => `t${index}`))
    expect(discoveryOf('one', undefined, many)).toMatchObject({ added: { length: 100 }, tools: 5_000 })
  })

  it('is none where everything stayed as it was', () => {
    expect(discoveryOf('one', catalogueOf(['a']), catalogueOf(['a']))).toBeUndefined()
    expect(discoveryOf('one', undefined, catalogueOf([]))).toBeUndefined()
  })
})
