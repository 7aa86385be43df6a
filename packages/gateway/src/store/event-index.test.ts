import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createEvent, openTestStore, scratchFolder } from './scratch.test-kit.ts'
import { loadSqlite } from './sqlite.ts'
import type { Store } from './store.ts'

/** How many records have a row, without a query to the store, which would catch up first. */
function indexedIn(state: string): number {
  const Sqlite = loadSqlite()
  if (Sqlite === undefined) throw new Error('SQLite cannot be loaded here')
  const database = new Sqlite(join(state, 'state.db'))
  const { count } = database.prepare('SELECT count(*) AS count FROM events').get() as { readonly count: number }
  database.close()
  return count
}

const STEP = 250

function write(store: Store, records: number): number {
  for (let count = 0; count < records; count++) store.log.append(createEvent('x'))
  vi.advanceTimersByTime(STEP)
  return records
}

describe('an index without queries', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  test('keeps up with a few calls again after a burst', () => {
    const state = scratchFolder()
    const store = openTestStore({ state })
    let written = 0
    for (let step = 0; step < 8; step++) written += write(store, 100)
    expect(indexedIn(state)).toBeLessThan(400)
    for (let step = 0; step < 80; step++) written += write(store, 25)
    expect(written - indexedIn(state)).toBeLessThan(200)
  })

  test('never falls behind by whole files, however many calls there are', () => {
    const state = scratchFolder()
    const store = openTestStore({ state, segmentBytes: 20_000 })
    let written = 0
    for (let step = 0; step < 40; step++) written += write(store, 100)
    expect(written - indexedIn(state)).toBeLessThan(500)
  })
})
