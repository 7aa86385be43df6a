import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createDefinitionStore } from './definition-store.ts'
import { scratchFolder } from './scratch.test-kit.ts'
import { closeStateDatabase, openStateDatabase } from './state-database.ts'

function openShelf(most: number, perServer = most) {
  const database = openStateDatabase(join(scratchFolder(), 'state.db'), () => new Date())
  if (database === undefined) throw new Error('There is no SQLite here.')
  onTestFinished(() => closeStateDatabase(database))
  const shelf = createDefinitionStore(database, { total: most, perServer })
  const save = (pins: readonly string[], named: readonly string[], server = 'one'): void =>
    shelf.save(
      server,
      pins.map((pin) => ({ pin, text: () => pin.repeat(10) })),
      () => new Set(named),
    )
  const kept = (...pins: readonly string[]): readonly string[] => pins.filter((pin) => shelf.load(pin) !== undefined)
  return { save, kept }
}

it('a full shelf lets go of what no entry pins any more, and never of what one does', () => {
  const { save, kept } = openShelf(30)
  save(['a', 'b', 'c'], ['a', 'b', 'c'])
  save(['d'], ['b', 'd'])
  expect(kept('a', 'b', 'c', 'd')).toEqual(['b', 'd'])
})

it('a shelf with room keeps also what no entry pins: people go back to an older tools.yaml', () => {
  const { save, kept } = openShelf(30)
  save(['a', 'b'], ['a', 'b'])
  save(['c'], ['c'])
  expect(kept('a', 'b', 'c')).toEqual(['a', 'b', 'c'])
})

it('a shelf that is full of what entries pin takes no more, but what there is still room for', () => {
  const { save, kept } = openShelf(30)
  save(['a', 'b'], ['a', 'b', 'ccc', 'd'])
  save(['ccc', 'd', 'e'], ['a', 'b', 'ccc', 'd', 'e'])
  expect(kept('a', 'b', 'ccc', 'd', 'e')).toEqual(['a', 'b', 'd'])
})

it('a server that fills its share of the shelf takes nothing from the others', () => {
  const { save, kept } = openShelf(100, 30)
  const named = ['a', 'b', 'c', 'd', 'e']
  save(['a', 'b', 'c', 'd'], named, 'greedy')
  save(['e'], named, 'honest')
  expect(kept(...named)).toEqual(['a', 'b', 'c', 'e'])
})
