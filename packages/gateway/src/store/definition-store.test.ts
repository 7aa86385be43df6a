import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createDefinitionStore } from './definition-store.ts'
import { scratchFolder } from './scratch.test-kit.ts'
import { closeStateDatabase, openStateDatabase } from './state-database.ts'

function openStore(total: number, perServer = total) {
  const database = openStateDatabase(join(scratchFolder(), 'state.db'), () => new Date())
  if (database === undefined) throw new Error('There is no SQLite here.')
  onTestFinished(() => closeStateDatabase(database))
  const store = createDefinitionStore(database, { total: total, perServer })
  const save = (pins: readonly string[], named: readonly string[], server = 'one'): void =>
    store.save(
      server,
      pins.map((pin) => ({ pin, text: () => pin.repeat(10) })),
      () => new Set(named),
    )
  const stored = (...pins: readonly string[]): readonly string[] => pins.filter((pin) => store.load(pin) !== undefined)
  return { save, stored }
}

it('a full store removes definitions that no entry pins any more, and never a pinned one', () => {
  const { save, stored } = openStore(30)
  save(['a', 'b', 'c'], ['a', 'b', 'c'])
  save(['d'], ['b', 'd'])
  expect(stored('a', 'b', 'c', 'd')).toEqual(['b', 'd'])
})

it('a store with space also retains what no entry pins: people go back to an older tools.yaml', () => {
  const { save, stored } = openStore(30)
  save(['a', 'b'], ['a', 'b'])
  save(['c'], ['c'])
  expect(stored('a', 'b', 'c')).toEqual(['a', 'b', 'c'])
})

it('a store that is full of pinned definitions accepts only what still fits', () => {
  const { save, stored } = openStore(30)
  save(['a', 'b'], ['a', 'b', 'ccc', 'd'])
  save(['ccc', 'd', 'e'], ['a', 'b', 'ccc', 'd', 'e'])
  expect(stored('a', 'b', 'ccc', 'd', 'e')).toEqual(['a', 'b', 'd'])
})

it('a server that fills its share of the store takes nothing from the others', () => {
  const { save, stored } = openStore(100, 30)
  const named = ['a', 'b', 'c', 'd', 'e']
  save(['a', 'b', 'c', 'd'], named, 'greedy')
  save(['e'], named, 'honest')
  expect(stored(...named)).toEqual(['a', 'b', 'c', 'e'])
})
