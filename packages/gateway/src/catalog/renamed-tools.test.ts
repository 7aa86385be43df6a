import { BUILT_IN_SERVER, foldName } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCatalog } from './catalog.test-kit.ts'
import { CatalogSnapshot } from './catalog-snapshot.ts'

type Offered = Readonly<Record<string, readonly string[]>>

function snapshotOf(servers: Offered, renames: Readonly<Record<string, string>>): CatalogSnapshot {
  const entries = Object.entries(servers).map(([server, tools]) => ({ server, catalog: createCatalog([...tools]) }))
  return new CatalogSnapshot(entries, 'prefixed', () => new Map(Object.entries(renames)))
}

const wiresOf = ({ tools }: CatalogSnapshot): Readonly<Record<string, string>> =>
  Object.fromEntries(tools.map(({ server, name, wire }) => [`${server}/${name}`, wire]))

describe('a renamed tool', () => {
  it('is listed and found under its new name, which follows the rules for all names, and no longer under the usual one', () => {
    const snapshot = snapshotOf({ a: ['x', 'y'] }, { mcp__a__x: 'find it!' })
    expect(wiresOf(snapshot)).toEqual({ 'a/x': 'find_it', 'a/y': 'a_y' })
    expect(snapshot.tool('find_it')).toMatchObject({ name: 'x', defaultWire: 'a_x', recordName: 'mcp__a__x' })
    expect(snapshot.tool('find_it')?.definition).toMatchObject({ name: 'find_it' })
    expect(snapshot.tool('a_x')).toBeUndefined()
    expect(snapshot.warnings).toEqual([])
  })

  it('keeps its usual name if another tool has or wants the new one, and a warning says so', () => {
    const taken = snapshotOf({ a: ['x'], b: ['y'] }, { mcp__a__x: 'B_y' })
    expect(wiresOf(taken)['a/x']).toBe('a_x')
    expect(wiresOf(taken)['b/y']).toMatch(/^b_y_[0-9a-f]{8}$/)
    expect(taken.warnings).toEqual([expect.stringContaining('a/x cannot be renamed to "B_y"')])
    const both = snapshotOf({ a: ['x'], b: ['y'] }, { mcp__a__x: 'z', mcp__b__y: 'Z' })
    expect(wiresOf(both)).toEqual({ 'a/x': 'a_x', 'b/y': 'b_y' })
    expect(both.warnings).toHaveLength(2)
  })

  it('never takes the name of one of the gateway’s own tools', () => {
    const snapshot = snapshotOf({ [BUILT_IN_SERVER]: ['read'], a: ['x'] }, { mcp__a__x: 'sallyport_read' })
    expect(wiresOf(snapshot)).toEqual({ 'sallyport/read': 'sallyport_read', 'a/x': 'a_x' })
  })

  it.each(['', '!!!', 'x'.repeat(51)])('is not renamed to %j, which is not a valid name', (newName) => {
    const snapshot = snapshotOf({ a: ['x'] }, { mcp__a__x: newName })
    expect([wiresOf(snapshot)['a/x'], snapshot.warnings.length]).toEqual(['a_x', 1])
  })

  it('keeps its usual name reserved, since rules may still refer to it', () => {
    const snapshot = snapshotOf({ a: ['b_c'], a_b: ['c'] }, { mcp__a__b_c: 'z' })
    expect(wiresOf(snapshot)['a_b/c']).toMatch(/^a_b_c_[0-9a-f]{8}$/)
  })
})

it('always has a name, and no two tools can be confused, whatever names people choose', () => {
  const word = fc.constantFrom('a', 'b', 'a_b', 'A', 'a_b_a', 's')
  const servers = fc.dictionary(
    fc.constantFrom('a', 'b', 'a_b', BUILT_IN_SERVER),
    fc.uniqueArray(word, { minLength: 1 }),
  )
  const wishes = fc.dictionary(
    fc.tuple(fc.constantFrom('a', 'b', 'a_b'), word).map(([server, tool]) => `mcp__${server}__${tool}`),
    fc.oneof(
      word,
      fc.tuple(word, word).map(([left, right]) => `${left}_${right}`),
      fc.constant('sallyport_a'),
    ),
  )
  fc.assert(
    fc.property(servers, wishes, (offered, renames) => {
      const wires = Object.entries(wiresOf(snapshotOf(offered, renames)))
      expect(wires).toHaveLength(Object.values(offered).flat().length)
      expect(new Set(wires.map(([, wire]) => foldName(wire))).size).toBe(wires.length)
      for (const tool of offered[BUILT_IN_SERVER] ?? [])
        expect(wires.find(([path]) => path === `sallyport/${tool}`)?.[1]).toBe(
          wiresOf(snapshotOf(offered, {}))[`sallyport/${tool}`],
        )
    }),
  )
})
