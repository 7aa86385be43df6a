import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { CallFacts, LoggedEvent, SallyportEvent } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createEventMatcher } from './event-filter.ts'
import type { EventFilter } from './records.ts'
import { createEvent, openTestStore, scratchFolder } from './scratch.test-kit.ts'
import { loadSqlite } from './sqlite.ts'
import { scanLog } from './store.ts'

const name = fc.constantFrom(
  'a',
  'b',
  'mcp__files__read',
  'mcp__files__write',
  'mcp__git__push',
  'x[1]*?',
  'é\0😀',
  '\ud800',
)
const call = fc.record<CallFacts>({
  call_id: name,
  trace_id: name,
  user: fc.constant('u'),
  agent: name,
  profile: fc.constant('p'),
  session: name,
  server: name,
  method: fc.constant('tools/call'),
  tool_name: name,
  is_mcp: fc.boolean(),
})
const event: fc.Arbitrary<SallyportEvent> = fc.oneof(
  call.map((facts) => ({ type: 'TOOL_CALL_STARTED' as const, ...facts, steps: {} })),
  call.map((facts) => ({ type: 'TOOL_CALL_COMPLETED' as const, ...facts, success: true, latency_ms: 1, bytes: 2 })),
  name.map((server) => ({ type: 'UPSTREAM_LOST' as const, server, reason: 'gone\n\u2028' })),
  name.map((agent) => ({ type: 'TOKEN_MINTED' as const, token_id: 't', agent, profile: 'p' })),
)
const moment = fc.integer({ min: 0, max: 50 }).map((offset) => new Date(1_800_000_000_000 + offset))
const glob = fc.constantFrom(
  'mcp__*',
  '*read',
  '*__*__w?ite',
  'mcp__files__read',
  '*',
  '?',
  'x[1]**',
  'x[1]*?',
  'é*',
  'é???',
  '',
)
const conditions: fc.Arbitrary<Required<EventFilter>> = fc.record({
  since: moment,
  until: moment,
  agent: name,
  session: name,
  server: name,
  tool: fc.oneof(name, glob),
  types: fc.subarray(['TOOL_CALL_STARTED', 'UPSTREAM_LOST', 'TOKEN_MINTED'] as const),
  traceId: name,
  callId: name,
  limit: fc.integer({ min: 0, max: 12 }),
})
const keys = ['since', 'until', 'agent', 'session', 'server', 'tool', 'types', 'traceId', 'callId', 'limit'] as const
/** Few conditions at a time: more would nearly always match nothing. */
const filter: fc.Arbitrary<EventFilter> = fc
  .tuple(conditions, fc.subarray([...keys], { maxLength: 3 }))
  .map(([all, chosen]) => Object.fromEntries(chosen.map((key) => [key, all[key]])))

/** The meaning of a filter, implemented again in the plainest way. */
function model(events: readonly LoggedEvent[], wanted: EventFilter): readonly LoggedEvent[] {
  const found = events.filter((each) => {
    const record = each as unknown as Record<string, unknown>
    const at = Date.parse(each.time)
    if (wanted.since !== undefined && at < wanted.since.getTime()) return false
    if (wanted.until !== undefined && at > wanted.until.getTime()) return false
    if (wanted.types !== undefined && !wanted.types.some((type) => type === each.type)) return false
    const pairs = { agent: wanted.agent, session: wanted.session, server: wanted.server, trace_id: wanted.traceId }
    for (const [key, value] of Object.entries({ ...pairs, call_id: wanted.callId }))
      if (value !== undefined && record[key] !== value) return false
    const { tool } = wanted
    return tool === undefined || writings(record).some((name) => globbed(tool, name))
  })
  return wanted.limit === undefined ? found : wanted.limit === 0 ? [] : found.slice(-wanted.limit)
}

/** Recorded as `mcp__server__tool`, a tool may be queried by three more spellings. */
function writings({ tool_name: recorded, server }: Record<string, unknown>): readonly unknown[] {
  const tool = String(recorded).split(`mcp__${String(server)}__`)[1]
  if (tool === undefined || !String(recorded).startsWith('mcp__')) return [recorded]
  return [recorded, `${String(server)}/${tool}`, `${String(server)}_${tool}`.replaceAll(/[^A-Za-z0-9]+/g, '_'), tool]
}

function globbed(pattern: string, text: unknown): boolean {
  const escaped = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '[^]*')
    .replaceAll('?', '[^]')
  return typeof text === 'string' && new RegExp(`^${escaped}$`).test(text)
}

describe('finding', () => {
  test('answers every filter like a plain array, from the index and from the log alike', async () => {
    const state = scratchFolder()
    let tick = 0
    const store = openTestStore({ state, segmentBytes: 3_000, now: () => new Date(1_800_000_000_000 + (tick++ % 51)) })
    const all: LoggedEvent[] = []
    store.log.watch((logged) => all.push(logged))
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 8 }),
        fc.array(filter, { minLength: 1, maxLength: 5 }),
        async (events, filters) => {
          for (const each of events) store.log.append(each)
          for (const each of filters) {
            expect(await store.find(each)).toEqual(model(all, each))
            expect(scanLog(join(state, 'logs'), each)).toEqual(model(all, each))
          }
        },
      ),
      { numRuns: 80 },
    )
    expect(all.length).toBeGreaterThan(50)
  })

  test('reads more rows than a page to reach a limit', async () => {
    const store = openTestStore({ state: scratchFolder() })
    const prompt = { call_id: 'c', trace_id: 't', user: 'u', agent: 'a', profile: 'p', session: 's', server: 'x' }
    const facts = { ...prompt, method: 'tools/call', is_mcp: true, success: true, latency_ms: 1, bytes: 1 }
    for (let count = 0; count < 700; count++)
      store.log.append({ type: 'TOOL_CALL_COMPLETED', ...facts, tool_name: count % 350 === 0 ? 'x_rare' : 'x_common' })
    expect((await store.find({ tool: '*rare', limit: 5 })).map(({ seq }) => seq)).toEqual([1, 351])
    expect((await store.find({ limit: 2 })).map(({ seq }) => seq)).toEqual([699, 700])
    expect(await store.find({})).toHaveLength(700)
  })

  test('leaves out the records of a log file that was removed', async () => {
    const state = scratchFolder()
    const store = openTestStore({ state, segmentBytes: 400 })
    for (let count = 0; count < 30; count++) store.log.append(createEvent(`n${count}`))
    expect(await store.find({})).toHaveLength(30)
    const [first] = readdirSync(join(state, 'logs')).sort()
    const lines = readFileSync(join(state, 'logs', first as string), 'utf8').split('\n').length - 1
    rmSync(join(state, 'logs', first as string))
    expect((await store.find({})).map(({ seq }) => seq)).toEqual(
      Array.from({ length: 30 - lines }, (_, at) => lines + at + 1),
    )
    expect(await store.find({ limit: 40 })).toHaveLength(30 - lines)
  })
})

describe('the index', () => {
  test('is rebuilt from the log if it was deleted, and gives the same answers', async () => {
    const state = scratchFolder()
    const first = openTestStore({ state, segmentBytes: 2_000 })
    for (let count = 0; count < 250; count++) first.log.append(createEvent(`n${count}`))
    const before = await first.find({})
    await first.close()
    for (const file of ['state.db', 'state.db-wal', 'state.db-shm']) rmSync(join(state, file), { force: true })
    const second = openTestStore({ state })
    expect(await second.find({})).toEqual(before)
    second.log.append(createEvent('after'))
    expect((await second.find({ limit: 1 }))[0]).toMatchObject({ seq: 251, message: 'after' })
  })

  test.each([
    ['text', () => Buffer.from('this was never a database, but it is long enough to look like a header'.repeat(90))],
    [
      'zeros after a good header',
      (good: Buffer) => Buffer.concat([good.subarray(0, 100), Buffer.alloc(good.length - 100)]),
    ],
    ['a torn file', (good: Buffer) => good.subarray(0, 5000)],
  ])('moves a database of %s aside and creates a new one', async (_what, spoil) => {
    const state = scratchFolder()
    const first = openTestStore({ state })
    for (let count = 0; count < 120; count++) first.log.append(createEvent(`n${count}`))
    const before = await first.find({})
    await first.close()
    const path = join(state, 'state.db')
    rebuildFile(path, spoil)
    const second = openTestStore({ state })
    expect(await second.find({})).toEqual(before)
    expect(readdirSync(state).filter((file) => file.includes('.broken-'))).not.toEqual([])
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  test('that lost a table is moved aside too', async () => {
    const state = scratchFolder()
    const first = openTestStore({ state })
    first.log.append(createEvent('one'))
    await first.close()
    alter(join(state, 'state.db'), 'DROP TABLE catalogues')
    const second = openTestStore({ state })
    second.catalogs.save('a', 'f', 'kept')
    expect(second.catalogs.load('a', 'f')).toBe('kept')
    expect(await second.find({})).toHaveLength(1)
  })

  test('that is damaged while in use is moved aside, and the log answers', async () => {
    const state = scratchFolder()
    const store = openTestStore({ state })
    store.log.append(createEvent('one'))
    expect(await store.find({})).toHaveLength(1)
    alter(join(state, 'state.db'), 'DROP TABLE events')
    store.log.append(createEvent('two'))
    expect((await store.find({})).map(({ seq }) => seq)).toEqual([1, 2])
    expect(existsSync(join(state, 'state.db'))).toBe(false)
    store.catalogs.save('a', 'f', 'x')
    await store.close()
    const again = openTestStore({ state })
    expect((await again.find({})).map(({ seq }) => seq)).toEqual([1, 2])
  })

  test('of a newer version is refused with what to do', () => {
    const state = scratchFolder()
    alter(join(state, 'state.db'), 'PRAGMA user_version = 99')
    expect(() => openTestStore({ state })).toThrow(expect.objectContaining({ code: 'STATE_UNUSABLE' }))
    expect(existsSync(join(state, 'state.db'))).toBe(true)
  })

  test('that has more than the log, after a power cut, is not used', async () => {
    const state = scratchFolder()
    const first = openTestStore({ state })
    for (let count = 0; count < 10; count++) first.log.append(createEvent(`n${count}`))
    await first.find({})
    await first.close()
    const path = join(state, 'logs', 'events-000000000001.jsonl')
    const lines = readFileSync(path, 'utf8').split('\n')
    truncateSync(path, lines.slice(0, 6).join('\n').length + 1)
    const second = openTestStore({ state })
    second.log.append({ type: 'UPSTREAM_LOST', server: 'new', reason: 'x'.repeat(2_000) })
    expect(await second.find({ server: 'new' })).toHaveLength(1)
    expect(await second.find({})).toEqual(scanLog(join(state, 'logs'), {}))
    expect(await second.find({})).toHaveLength(7)
  })

  test('of another log is detected by its records', async () => {
    const state = scratchFolder()
    const first = openTestStore({ state })
    for (let count = 0; count < 10; count++) first.log.append(createEvent(`n${count}`))
    await first.find({})
    await first.close()
    const path = join(state, 'logs', 'events-000000000001.jsonl')
    writeFileSync(path, readFileSync(path, 'utf8').split('\n').slice(5).join('\n'))
    for (let seq = 11; seq < 30; seq++)
      appendFileSync(path, `${JSON.stringify({ seq, time: new Date().toISOString(), ...createEvent('foreign') })}\n`)
    const second = openTestStore({ state })
    expect(await second.find({})).toEqual(scanLog(join(state, 'logs'), {}))
  })
})

test('a catalog is loaded only for the same server and fingerprint, also after a restart', async () => {
  const state = scratchFolder()
  const store = openTestStore({ state })
  store.catalogs.save('files', 'f1', '{"tools":"é\u0000😀"}')
  store.catalogs.save('git', 'g1', 'x'.repeat(3_000_000))
  await store.close()
  const again = openTestStore({ state })
  expect(again.catalogs.load('files', 'f1')).toBe('{"tools":"é\u0000😀"}')
  expect(again.catalogs.load('git', 'g1')).toHaveLength(3_000_000)
  expect(again.catalogs.load('files', 'f2')).toBeUndefined()
  again.catalogs.save('files', 'f2', 'new')
  expect(again.catalogs.load('files', 'f1')).toBeUndefined()
})

test('files are readable only by their owner', async () => {
  const state = join(scratchFolder(), 'deep', 'state')
  const store = openTestStore({ state })
  store.log.append(createEvent('x'))
  await store.find({})
  const modes = ['', 'logs'].map((file) => statSync(join(state, file)).mode & 0o777)
  expect(modes).toEqual([0o700, 0o700])
  for (const file of ['state.db', 'state.db-wal', 'logs/events-000000000001.jsonl'])
    expect([file, statSync(join(state, file)).mode & 0o777]).toEqual([file, 0o600])
})

test('what a killed writer left in the log folder is removed, and the head is saved at the end', async () => {
  const state = scratchFolder()
  const logs = join(state, 'logs')
  mkdirSync(logs)
  writeFileSync(join(logs, '.head.json.4194999-0123456789ab.sallyport-tmp'), '')
  const store = openTestStore({ state })
  store.log.append(createEvent('x'))
  await store.close()
  expect(readdirSync(logs).sort()).toEqual(['events-000000000001.jsonl', 'head.json'])
  expect(statSync(join(logs, 'head.json')).mode & 0o777).toBe(0o600)
})

test('an empty filter matches everything', () => {
  expect(createEventMatcher({})({ seq: 1, time: 'x', type: 'GATEWAY_STOPPED', reason: '' })).toBe(true)
})

function alter(path: string, sql: string): void {
  const Sqlite = loadSqlite()
  if (Sqlite === undefined) throw new Error('SQLite cannot be loaded here')
  const database = new Sqlite(path)
  database.exec(sql)
  database.close()
}

function rebuildFile(path: string, spoil: (good: Buffer) => Buffer): void {
  const good = readFileSync(path)
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
  writeFileSync(path, spoil(good))
}

test('a removed log folder gives no results and no error', async () => {
  const state = scratchFolder()
  const store = openTestStore({ state })
  store.log.append(createEvent('x'))
  expect(await store.find({})).toHaveLength(1)
  rmSync(join(state, 'logs'), { recursive: true })
  expect(await store.find({})).toEqual([])
})
