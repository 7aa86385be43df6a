import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eventually } from '../../../../tests/processes.ts'
import { promise } from '../../../../tests/promises.ts'
import { DEFAULT_SETTINGS } from '../config/config.ts'
import { SessionResults } from './session-results.ts'

const ADA = { user: 'ada', session: 'one' }
const DAY = 86_400_000

let state: string

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'sallyport-results-'))
})

afterEach(() => rmSync(state, { recursive: true }))

const open = (age: number): SessionResults => {
  const context = { ...DEFAULT_SETTINGS.context, retention: { age, bytes: 1_000_000 } }
  return new SessionResults({ state, settings: () => ({ context }) })
}

const files = (): readonly string[] =>
  readdirSync(join(state, 'workspaces'), { recursive: true, encoding: 'utf8' }).filter((name) => /r_/.test(name))

it('gives each session its own results, and never those of another', async () => {
  const stores = open(DAY)
  const { handle } = await stores.storeFor(ADA).save('much')
  expect((await stores.storeFor(ADA).read(handle))?.bytes.toString()).toBe('much')
  for (const other of [
    { ...ADA, session: 'two' },
    { ...ADA, user: 'eve' },
  ])
    expect(await stores.storeFor(other).read(handle)).toBeUndefined()
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
  const stores = open(DAY)
  stores.start()
  await eventually(files, (left) => left.length === 1)
  await stores.close()
  expect(files()).toEqual([name])
})

it('works if the folder is missing, or if it is a file', async () => {
  for (const prepare of [() => undefined, () => writeFileSync(join(state, 'workspaces'), 'a file')]) {
    prepare()
    const stores = open(DAY)
    stores.start()
    await stores.close()
  }
})
