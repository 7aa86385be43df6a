import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { ConnectionLists } from './connection-lists.ts'
import { isListed, type Lists } from './own-lists.ts'
import type { ServerCatalog } from './server-catalog.ts'

const tool = (name: string, description = name) => ({ name, description, inputSchema: {} })
const lists = (...names: string[]): Lists => ({
  tools: names.map((name) => tool(name)),
  ...{ resources: [], resourceTemplates: [], prompts: [] },
})
const catalog = (...names: string[]): ServerCatalog => ({
  ...({ era: 'legacy', protocolVersion: '2025-11-25', capabilities: {}, serverInfo: {} } as const),
  ...{ instructions: undefined, leftOut: [] },
  ...lists(...names),
})
const connection = (slot: string, capabilities = 'forms') => ({ slot, capabilities, isExclusive: false })

function openLists(...names: string[]): ConnectionLists {
  const known = new ConnectionLists()
  known.setShared(catalog(...names))
  return known
}

const revealedIn = (known: ConnectionLists): readonly string[] =>
  known.publishable(known.shared as ServerCatalog).revealed?.tools.map(({ name }) => String(name)) ?? []

describe(`the lists of the connections to a server (${promise('GW-34')})`, () => {
  it('are those that all share, for a connection that lists the same', () => {
    const known = openLists('read', 'write')
    expect(known.setOwn(connection('a'), lists('write', 'read'))).toEqual({ changed: [], isNews: false })
    expect(known.hasOwn).toBe(false)
    expect(known.find(connection('a'))).toBeUndefined()
    expect(known.publishable(known.shared as ServerCatalog)).toBe(known.shared)
  })

  it('show what one connection has more or less, to it alone', () => {
    const known = openLists('read', 'write')
    known.setOwn(connection('b'), lists('read', 'write'))
    known.setOwn(connection('a'), lists('read', 'write'))
    expect(known.setOwn(connection('a'), lists('read', 'extra'))).toEqual({ changed: ['tools'], isNews: true })
    const own = known.find(connection('a'))
    expect(isListed(own, 'tools', { name: 'extra', isRevealed: true })).toBe(true)
    expect(isListed(own, 'tools', { name: 'write' })).toBe(false)
    expect(isListed(own, 'tools', { name: 'read' })).toBe(true)
    for (const other of [known.find(connection('b')), known.find(connection('new'))]) {
      expect(isListed(other, 'tools', { name: 'extra', isRevealed: true })).toBe(false)
      expect(isListed(other, 'tools', { name: 'write' })).toBe(true)
    }
    expect(revealedIn(known)).toEqual(['extra'])
  })

  it('are the same object for a hundred connections that differ in the same way', () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `tool-${index}`)
    const known = openLists(...names)
    const owners = Array.from({ length: 100 }, (_, index) => connection(`slot ${index}`))
    const updates = owners.map((owner) => known.setOwn(owner, lists(...names, 'extra')))
    expect(new Set(owners.map((owner) => known.find(owner))).size).toBe(1)
    expect(
      updates.filter(({ isNews }) => isNews),
      'the catalog is published for the first one only',
    ).toHaveLength(1)
    expect(known.find(connection('slot 0'))?.tools).toEqual({ extra: new Set(['extra']), missing: new Set() })
  })

  it('are gone with the connection', () => {
    const known = openLists('read')
    known.setOwn(connection('a'), lists('read'))
    known.setOwn(connection('a'), lists('read', 'extra'))
    expect(known.remove(connection('a'))).toEqual({ changed: ['tools'], isNews: false })
    expect(known.hasOwn).toBe(false)
    expect(known.find(connection('a'))).toBeUndefined()
  })

  it('are known for a client that declares the same as an earlier one', () => {
    const known = openLists('read', 'open_url')
    expect(known.isKnown(connection('a'))).toBe(false)
    known.setBaseline(connection(''), lists('read'))
    expect(known.isKnown(connection('a'))).toBe(true)
    expect(isListed(known.find(connection('a')), 'tools', { name: 'open_url' })).toBe(false)
    expect(known.find(connection('a', 'urls'))).toBeUndefined()
    expect(known.setOwn(connection('a'), lists('read')).changed, 'it lists what was expected').toEqual([])
  })

  it('are compared again when the first connection has other lists', () => {
    const known = openLists('read')
    known.setOwn(connection('a'), lists('read', 'extra'))
    known.setShared(catalog('read', 'extra', 'new'))
    expect(revealedIn(known)).toEqual([])
    const own = known.find(connection('a'))
    expect(own?.tools).toEqual({ extra: new Set(), missing: new Set(['new']) })
    expect(known.isKnown(connection('b')), 'what other clients see is read again').toBe(false)
  })

  it('are compared once the lists of the first connection are known', () => {
    const known = new ConnectionLists()
    const early = { ...lists('read', 'extra'), tools: [tool('read', 'something else'), tool('extra')] }
    expect(known.setOwn({ ...connection('a'), era: 'legacy' }, early)).toEqual({ changed: [], isNews: false })
    known.setShared(catalog('read'))
    expect(known.find(connection('a'))?.tools.extra).toEqual(new Set(['extra']))
    expect(known.publishable(known.shared as ServerCatalog).tools).toEqual([tool('read', 'something else')])
  })

  it('may have output schemas of another era', () => {
    const known = openLists('read')
    const legacy = { ...lists('read'), tools: [{ ...tool('read'), outputSchema: { type: 'object' } }] }
    expect(known.setOwn({ ...connection('a'), era: 'legacy' }, legacy).isNews).toBe(false)
    expect(known.setOwn(connection('b'), legacy).isNews).toBe(true)
  })

  it('have one definition for all: another one is published, for a review', () => {
    const known = openLists('read')
    known.setOwn(connection('a'), lists('read', 'extra'))
    const other = { ...lists('read'), tools: [tool('read'), tool('extra', 'something else')] }
    expect(known.setOwn(connection('b'), other).isNews).toBe(true)
    const published = known.publishable(known.shared as ServerCatalog)
    expect(published.revealed?.tools).toEqual([tool('extra', 'something else')])
    expect(known.remove(connection('b')).isNews).toBe(true)
    expect(known.publishable(known.shared as ServerCatalog).revealed?.tools).toEqual([tool('extra')])
  })

  it('show nothing of a connection that each call may change', () => {
    const known = openLists('read')
    const update = known.setOwn({ ...connection('a'), isExclusive: true }, lists('read', 'extra'))
    expect(update).toEqual({ changed: [], isNews: false })
    expect(revealedIn(known)).toEqual([])
  })

  it('have a limit, and what nobody uses any more makes room', () => {
    const known = openLists('read')
    const many = (prefix: string): readonly string[] => Array.from({ length: 500 }, (_, index) => `${prefix}${index}`)
    known.setOwn(connection('first'), lists('read'))
    known.setOwn(connection('first'), lists('read', ...many('old')))
    known.setOwn(connection('second'), lists('read', 'late'))
    expect(known.find(connection('second')), 'there is no room for it').toBeUndefined()
    known.remove(connection('first'))
    known.setOwn(connection('second'), lists('read', 'late'))
    expect(known.find(connection('second'))?.tools.extra).toEqual(new Set(['late']))
    expect(revealedIn(known)).toHaveLength(500)
    const huge = { ...lists('read'), tools: [tool('read'), tool('huge', 'x'.repeat(1_000_001))] }
    known.setOwn(connection('third'), huge)
    expect(known.find(connection('third'))).toBeUndefined()
  })
})
