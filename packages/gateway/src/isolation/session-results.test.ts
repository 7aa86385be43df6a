import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SessionKeys } from '@sallyport/kit/keys'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { eventually } from '../../../../tests/harness/processes.ts'
import { promise } from '../../../../tests/promises.ts'
import { DEFAULT_SETTINGS } from '../config/config.ts'
import { EndedSessions } from '../sessions/sessions.ts'
import { type RemovedData, SessionResults } from './session-results.ts'

const ADA = { user: 'ada', session: 'one' }
const DAY = 86_400_000

let state: string
let keys: string

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'sallyport-results-'))
  keys = mkdtempSync(join(tmpdir(), 'sallyport-store-keys-'))
})

afterEach(() => {
  for (const folder of [state, keys]) rmSync(folder, { recursive: true })
})

interface Opened {
  readonly results: SessionResults
  readonly ended: EndedSessions
  readonly removed: RemovedData[]
}

const openAll = (age: number): Opened => {
  const context = { ...DEFAULT_SETTINGS.context, retention: { age, bytes: 1_000_000 } }
  const removed: RemovedData[] = []
  const ended = new EndedSessions({ state, onWarning: fail })
  const sessionKeys = new SessionKeys({
    ...{ folder: keys, notInside: [state], dataFolder: state, environment: {}, onProblem: fail },
  })
  const onRemoved = (_: unknown, data: RemovedData): void => void removed.push(data)
  const settings = () => ({ context })
  return {
    ended,
    removed,
    results: new SessionResults({ state, settings, sessionKeys, ended, onRemoved, onWarning: fail }),
  }
}

const open = (age: number): SessionResults => openAll(age).results

const fail = (text: string): never => {
  throw new Error(text)
}

const files = (): readonly string[] =>
  readdirSync(join(state, 'workspaces'), { recursive: true, encoding: 'utf8' }).filter((name) => /r_/.test(name))

it('gives each session its own results, and never those of another', async () => {
  const results = open(DAY)
  const { handle } = await results.storeFor(ADA).save('much')
  expect((await results.storeFor(ADA).read(handle))?.bytes.toString()).toBe('much')
  for (const other of [
    { ...ADA, session: 'two' },
    { ...ADA, user: 'eve' },
  ])
    expect(await results.storeFor(other).read(handle)).toBeUndefined()
})

it(`${promise('ISO-16')} removes old results, also of sessions that have ended`, async () => {
  await open(DAY).storeFor(ADA).save('old')
  const [name = ''] = files()
  const path = join(state, 'workspaces', name)
  // The file name contains the time when it was saved.
  const old = path.replace(/\d{8}-\d{9}/, '20200101-000000000')
  writeFileSync(old, 'from long ago')
  utimesSync(old, 0, 0)
  expect(files()).toHaveLength(2)
  const results = open(DAY)
  results.start()
  await eventually(files, (left) => left.length === 1)
  await results.close()
  expect(files()).toEqual([name])
})

it('works if the folder is missing, or if it is a file', async () => {
  for (const prepare of [() => undefined, () => writeFileSync(join(state, 'workspaces'), 'a file')]) {
    prepare()
    const results = open(DAY)
    results.start()
    await results.close()
  }
})

describe(`${promise('SEN-23')} the data of a session`, () => {
  const CANARY = 'canary-of-a-private-result'
  const PURGE = { ended: 0, isPurged: true }
  const keyFiles = (): readonly string[] =>
    readdirSync(keys, { recursive: true, encoding: 'utf8' }).filter((name) => /\.[0-9a-f]{16}$/.test(name))

  it('is encrypted on the disk, and read again after a restart', async () => {
    const { handle } = await open(DAY).storeFor(ADA).save(CANARY)
    const [name = ''] = files()
    expect(readFileSync(join(state, 'workspaces', name)).includes(CANARY)).toBe(false)
    expect((await open(DAY).storeFor(ADA).read(handle))?.bytes.toString()).toBe(CANARY)
  })

  it('is gone at once when it is purged: its key first, so a copy of the state cannot be read either', async () => {
    const copy = mkdtempSync(join(tmpdir(), 'sallyport-backup-'))
    const { results, ended } = openAll(DAY)
    const { handle } = await results.storeFor(ADA).save(CANARY)
    const other = await results.storeFor({ ...ADA, session: 'two' }).save('of another session')
    cpSync(state, copy, { recursive: true })
    await ended.end(ADA, PURGE)
    expect(await results.removeData(ADA)).toEqual({ files: 1, bytes: expect.any(Number), key: true })
    expect(await results.storeFor(ADA).read(handle)).toBeUndefined()
    expect([files().length, keyFiles().length]).toEqual([1, 1])
    expect((await results.storeFor({ ...ADA, session: 'two' }).read(other.handle))?.bytes.toString()).toContain(
      'another',
    )
    state = copy
    await expect(open(DAY).storeFor(ADA).read(handle)).rejects.toThrow(/cannot be decrypted/)
  })

  it('is gone also if results are read and written meanwhile by whoever still has the store', async () => {
    const { results, ended } = openAll(DAY)
    const store = results.storeFor(ADA)
    const { handle } = await store.save(CANARY.repeat(30_000))
    const writing = Array.from({ length: 5 }, () => store.save(CANARY.repeat(10_000)).catch(() => undefined))
    const reading = store.read(handle).catch(() => undefined)
    await ended.end(ADA, PURGE)
    await results.removeData(ADA)
    expect([files(), keyFiles()]).toEqual([[], []])
    await Promise.all([...writing, reading])
    expect(await store.read(handle)).toBeUndefined()
    await expect(store.save(CANARY)).rejects.toThrow(/has ended/)
    expect([files(), keyFiles()]).toEqual([[], []])
  })

  it('is removed by the next start if a purge was cut off', async () => {
    const before = openAll(DAY)
    await before.results.storeFor(ADA).save(CANARY)
    await before.ended.end(ADA, PURGE)
    const { results, ended, removed } = openAll(DAY)
    results.start()
    await eventually(
      () => removed,
      (all) => all.length === 1,
    )
    await results.close()
    expect([files(), keyFiles(), ended.removals, openAll(DAY).ended.removals]).toEqual([[], [], [], []])
  })

  it('is removed after the retention if the session was only ended', async () => {
    const first = openAll(DAY)
    await first.results.storeFor(ADA).save(CANARY)
    await first.ended.end(ADA, { ended: Date.now() - DAY / 2, isPurged: false })
    first.results.start()
    await first.results.close()
    expect([files().length, keyFiles().length]).toEqual([1, 1])
    const later = openAll(DAY / 4)
    later.results.start()
    await eventually(
      () => later.removed,
      (all) => all.length === 1,
    )
    await later.results.close()
    expect([files(), keyFiles()]).toEqual([[], []])
  })
})
