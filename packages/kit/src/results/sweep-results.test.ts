import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { SessionKeys } from '../keys/keys.ts'
import { createWorkspace } from '../workspace/workspace.ts'
import { openResultStore } from './result-store.ts'
import { sweepResults } from './sweep-results.ts'

const OWNER = `ada-${'0'.repeat(64)}`
const LONG_AGO = new Date('2020-01-01')

let root: string
let workspaces: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-sweep-'))
  workspaces = join(root, 'data/workspaces')
  mkdirSync(join(workspaces, OWNER), { recursive: true })
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** Each is one of several processes with the same folders. */
const openKeys = (): SessionKeys =>
  new SessionKeys({
    ...{ folder: join(root, 'keys'), notInside: [], dataFolder: join(root, 'data'), environment: {} },
    onProblem: () => {},
  })

const sweep = (): Promise<void> => sweepResults({ workspaces, sessionKeys: openKeys() })

function makeKeyOld(): void {
  const keys = join(root, 'keys/sessions')
  for (const name of readdirSync(keys, { recursive: true, encoding: 'utf8' }))
    if (name.includes('.')) utimesSync(join(keys, name), LONG_AGO, LONG_AGO)
}

describe(`the key of a session without files (${promise('SEN-23')})`, () => {
  it('is destroyed once it was not used for long', async () => {
    await openKeys().of(OWNER).obtain()
    await sweep()
    expect([...openKeys().list().keys()]).toEqual([OWNER])
    makeKeyOld()
    await sweep()
    expect([...openKeys().list().keys()]).toEqual([])
  })

  it('stays as long as a file is encrypted with it', async () => {
    const options = { sessionKey: openKeys().of(OWNER), isPrivate: async () => true }
    const workspace = createWorkspace(join(workspaces, OWNER), options)
    await workspace.writeFile('/workspace/salaries.csv', 'Ada,5200')
    makeKeyOld()
    await sweep()
    expect((await workspace.readFile('/workspace/salaries.csv')).bytes.toString()).toBe('Ada,5200')
    await workspace.deleteFile('/workspace/salaries.csv')
    await sweep()
    expect([...openKeys().list().keys()]).toEqual([])
  })

  it('stays if another process has just taken it to encrypt its next result', async () => {
    const own = openKeys().of(OWNER)
    await own.obtain()
    makeKeyOld()
    // The other process removes what is old between the key and the file.
    const sessionKey = {
      find: () => own.find(),
      obtain: async () => {
        const key = await own.obtain()
        await sweep()
        return key
      },
    }
    const store = openResultStore({ workspace: createWorkspace(join(workspaces, OWNER), { sessionKey }) })
    const { handle } = await store.save('Ada earns 5200')
    expect((await store.read(handle))?.bytes.toString()).toBe('Ada earns 5200')
  })

  it('is not destroyed if it was used after the sweep had listed it', async () => {
    const keys = openKeys()
    await keys.of(OWNER).obtain()
    const before = Date.now() - 1_000
    expect(await keys.destroyUnused(OWNER, before)).toBe(false)
    makeKeyOld()
    expect(await keys.destroyUnused(OWNER, before)).toBe(true)
  })
})
