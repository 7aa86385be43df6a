import { mkdirSync, readdirSync, rmdirSync, statSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { EventIndex } from './event-index.ts'
import { measureSegment, type RetentionPolicy } from './retention.ts'
import { createEvent, openTestStore, scratchFolder } from './scratch.test-kit.ts'
import type { Sqlite } from './sqlite.ts'
import { openStateDatabase } from './state-database.ts'
import { openEventLog, type Store, type StoreOptions } from './store.ts'
import { verifyLog } from './verify-log.ts'

const DAY = 86_400_000
const NO_LIMIT: RetentionPolicy = { age: Number.POSITIVE_INFINITY, bytes: Number.MAX_SAFE_INTEGER }

const filesIn = (state: string): readonly string[] =>
  readdirSync(join(state, 'logs'))
    .filter((name) => name.startsWith('events-'))
    .sort()

const sizeOf = (state: string): number =>
  filesIn(state).reduce((sum, name) => sum + statSync(join(state, 'logs', name)).size, 0)

/** Closing waits for pending work. */
async function withStore(
  options: Partial<StoreOptions> & { readonly state: string },
  use?: (store: Store) => unknown,
): Promise<void> {
  const store = openTestStore(options)
  await use?.(store)
  await trimmed()
  await store.close()
}

/** Trimming begins one turn after it was requested. */
const trimmed = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

function fill(store: Store, count: number): void {
  for (let at = 0; at < count; at++) store.log.append(createEvent('x'.repeat(100)))
}

describe('retention', () => {
  test('by size retains the newest files, records what it removed, and the rest still verifies', async () => {
    const state = scratchFolder()
    await withStore({ state, retention: { ...NO_LIMIT, bytes: 20_000 } }, (store) => fill(store, 300))
    await withStore({ state, retention: { ...NO_LIMIT, bytes: 20_000 } })
    expect(sizeOf(state)).toBeLessThanOrEqual(20_000)
    expect(sizeOf(state)).toBeGreaterThan(12_000)
    const report = await verifyLog({ folder: join(state, 'logs') })
    expect(report).toMatchObject({ problems: [], chainedFrom: report.first?.seq })
    expect(report.first?.seq).toBe(Number(report.trimmedThrough) + 1)
    expect(report.trimmedThrough).toBeGreaterThan(150)
  })

  test('removes old files while records are written', async () => {
    const state = scratchFolder()
    const store = openTestStore({ state, retention: { ...NO_LIMIT, bytes: 20_000 } })
    for (let round = 0; round < 40; round++) {
      fill(store, 10)
      await trimmed()
      await store.log.sync()
    }
    await store.close()
    expect(sizeOf(state)).toBeLessThan(30_000)
    expect(await verifyLog({ folder: join(state, 'logs') })).toMatchObject({ problems: [] })
  })

  test('by age uses the newest record of a file, and never removes the file that is written', async () => {
    const state = scratchFolder()
    let day = 0
    const now = (): Date => new Date(Date.UTC(2026, 0, 1) + day * DAY)
    await withStore({ state, now, segmentBytes: 500 }, (store) => {
      for (day = 0; day < 40; day++) store.log.append(createEvent('x'.repeat(200)))
    })
    expect(filesIn(state).length).toBeGreaterThan(10)
    await withStore({ state, now, segmentBytes: 500, retention: { ...NO_LIMIT, age: 10 * DAY } })
    const folder = join(state, 'logs')
    const closed = filesIn(state)
      .slice(0, -1)
      .map((name) => measureSegment(join(folder, name)))
    expect(Math.min(...closed.map(({ newest }) => newest))).toBeGreaterThanOrEqual(now().getTime() - 10 * DAY)
    expect(closed.length).toBeGreaterThan(2)
    day = 4_000
    await withStore({ state, now, segmentBytes: 500, retention: { ...NO_LIMIT, age: 10 * DAY } })
    expect(filesIn(state).length).toBeLessThanOrEqual(2)
    expect(await verifyLog({ folder })).toMatchObject({ problems: [] })
  })

  test('removes nothing if no limits are set', async () => {
    const state = scratchFolder()
    await withStore({ state, segmentBytes: 500, now: () => new Date(0) }, (store) => fill(store, 20))
    const before = filesIn(state)
    await withStore({ state })
    expect(filesIn(state)).toEqual(before)
  })

  test('can be changed while the log is open', async () => {
    const state = scratchFolder()
    await withStore({ state, segmentBytes: 1_000, retention: NO_LIMIT }, async (store) => {
      fill(store, 100)
      await trimmed()
      expect(filesIn(state).length).toBeGreaterThan(10)
      store.retain({ ...NO_LIMIT, bytes: 5_000 })
    })
    expect(sizeOf(state)).toBeLessThan(6_000)
  })

  test('removes the rows from the index, and queries work without them', async () => {
    const state = scratchFolder()
    const store = openTestStore({ state, segmentBytes: 1_000 })
    fill(store, 300)
    expect(await store.find({})).toHaveLength(300)
    store.retain({ ...NO_LIMIT, bytes: 10_000 })
    await trimmed()
    await store.log.sync()
    const found = await store.find({})
    expect(found.at(-1)?.type).toBe('LOG_TRIMMED')
    await store.close()
    const { first, last } = await verifyLog({ folder: join(state, 'logs') })
    const again = openTestStore({ state })
    const seqs = (await again.find({})).map(({ seq }) => seq)
    expect([seqs[0], seqs.at(-1)]).toEqual([first?.seq, last?.seq])
  })

  test('leaves no row of removed records in the index', async () => {
    const state = scratchFolder()
    const now = (): Date => new Date()
    const database = openStateDatabase(join(state, 'state.db'), now) as Sqlite
    const log = openEventLog({ folder: join(state, 'logs'), durability: 'process', now })
    const { folder, startedAt } = log
    const index = new EventIndex({ database, folder, startedAt, onDamage: () => undefined })
    for (let count = 0; count < 350; count++) log.append(createEvent('x'))
    await index.find({})
    await index.forgetThrough(230)
    expect(database.prepare('SELECT min(seq) AS first, count(*) AS rows FROM events').get()).toMatchObject({
      first: 231,
      rows: 120,
    })
    index.close()
    database.close()
    await log.close()
  })

  test('uses the time of the file if no record has a time', () => {
    const path = join(scratchFolder(), 'x')
    for (const content of ['', 'garbage', '\n', '\n\n', '{"seq":1,"time":"never","type":"X"}\n']) {
      writeFileSync(path, content)
      utimesSync(path, 1_000, 1_000)
      expect(measureSegment(path)).toEqual({ path, bytes: content.length, newest: 1_000_000 })
    }
  })

  test('that cannot remove a file says so once, and the log still verifies', async () => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
    const state = scratchFolder()
    await withStore({ state, segmentBytes: 1_000 }, (store) => fill(store, 40))
    // A folder with the name of a log file: it can be neither read nor unlinked as one.
    const stray = join(state, 'logs', 'events-000000000000.jsonl')
    mkdirSync(stray)
    await withStore({ state, retention: { ...NO_LIMIT, bytes: 2_000 } }, (store) => fill(store, 5))
    expect((await warned).message).toContain('could not be removed')
    rmdirSync(stray)
    expect(await verifyLog({ folder: join(state, 'logs') })).toMatchObject({ problems: [] })
  })
})

test('a file that was removed by hand is distinguished from one that retention removed', async () => {
  const state = scratchFolder()
  await withStore({ state, retention: { ...NO_LIMIT, bytes: 20_000 } }, (store) => fill(store, 300))
  const [oldest = ''] = filesIn(state)
  unlinkSync(join(state, 'logs', oldest))
  const { problems } = await verifyLog({ folder: join(state, 'logs') })
  expect(problems.map(({ what }) => what)).toEqual([
    expect.stringMatching(/^records (?!1 )\d+ to \d+ are missing, and no record says/),
  ])
})
