import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eventually } from '../../../../tests/processes.ts'
import { promise } from '../../../../tests/promises.ts'
import { DEFAULT_SETTINGS } from '../config/config.ts'
import { SessionShelves } from './session-shelves.ts'

const ADA = { user: 'ada', session: 'one' }
const DAY = 86_400_000

let state: string

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'sallyport-shelves-'))
})

afterEach(() => rmSync(state, { recursive: true }))

const open = (age: number): SessionShelves => {
  const context = { ...DEFAULT_SETTINGS.context, retention: { age, bytes: 1_000_000 } }
  return new SessionShelves({ state, settings: () => ({ context }) })
}

const files = (): readonly string[] =>
  readdirSync(join(state, 'workspaces'), { recursive: true, encoding: 'utf8' }).filter((name) => /r_/.test(name))

it('gives each session its own results, and never those of another', async () => {
  const shelves = open(DAY)
  const { handle } = await shelves.shelfFor(ADA).save('much')
  expect((await shelves.shelfFor(ADA).read(handle))?.bytes.toString()).toBe('much')
  for (const other of [
    { ...ADA, session: 'two' },
    { ...ADA, user: 'eve' },
  ])
    expect(await shelves.shelfFor(other).read(handle)).toBeUndefined()
})

it(`${promise('ISO-16')} removes old results, also of sessions that have ended`, async () => {
  await open(DAY).shelfFor(ADA).save('old')
  const [name = ''] = files()
  const path = join(state, 'workspaces', name)
  // The file name contains the time when it was saved.
  const old = path.replace(/\d{8}-\d{9}/, '20200101-000000000')
  writeFileSync(old, 'from long ago')
  utimesSync(old, 0, 0)
  expect(files()).toHaveLength(2)
  const shelves = open(DAY)
  shelves.start()
  await eventually(files, (left) => left.length === 1)
  await shelves.close()
  expect(files()).toEqual([name])
})

it('works if the folder is missing, or if it is a file', async () => {
  for (const prepare of [() => undefined, () => writeFileSync(join(state, 'workspaces'), 'a file')]) {
    prepare()
    const shelves = open(DAY)
    shelves.start()
    await shelves.close()
  }
})
