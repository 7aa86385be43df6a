import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Principal, toOwnerKey } from '@sallyport/core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { SessionWorkspaces } from './session-workspaces.ts'

const SESSION = toOwnerKey({ user: 'ada', session: 'work' } as Principal)
const HOUR_MS = 60 * 60_000

let state: string
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'sallyport-workspaces-'))
})
afterEach(() => rmSync(state, { recursive: true, force: true }))

const createWorkspaces = () =>
  new SessionWorkspaces({
    ...{ state, environment: {}, hasEnded: () => false },
    folderOf: (root, user, session) => join(root, `${user}-${session}`),
    settings: () => ({ storage: 'disk', maxBytes: 2 ** 20, age: HOUR_MS }),
  })

/** The folder of a session that nobody has used for a day, with many files. */
function makeAged(): string {
  const path = join(state, 'sandbox-workspaces', 'ada-work')
  mkdirSync(join(path, 'deep'), { recursive: true, mode: 0o700 })
  for (let index = 0; index < 50; index++) writeFileSync(join(path, 'deep', `${index}`), '')
  const then = new Date(Date.now() - 24 * HOUR_MS)
  utimesSync(path, then, then)
  return path
}

const use = (workspaces: SessionWorkspaces): { readonly path: string; release(): void } => {
  const used = workspaces.use(SESSION, () => {})
  if ('problem' in used) throw new Error(used.problem)
  return used
}

it('removes what nobody has used for long, and keeps the rest', async () => {
  const aged = makeAged()
  const workspaces = createWorkspaces()
  workspaces.start()
  await workspaces.close()
  expect(existsSync(aged)).toBe(false)
  const { path, release } = use(workspaces)
  writeFileSync(join(path, 'new'), '')
  release()
  workspaces.start()
  await workspaces.close()
  expect(readdirSync(path)).toEqual(['new'])
})

it('never removes a file of a session that begins again, whenever that is', async () => {
  for (let turns = 0; turns < 40; turns++) {
    makeAged()
    const workspaces = createWorkspaces()
    workspaces.start()
    for (let turn = 0; turn < turns; turn++) await nextTurn()
    const { path, release } = use(workspaces)
    writeFileSync(join(path, 'new'), '')
    await workspaces.close()
    expect(readdirSync(path), `after ${turns} turns`).toContain('new')
    release()
    rmSync(path, { recursive: true })
  }
})
