import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NetworkMode } from '@sallyport/core'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { SandboxDriver } from './drivers/driver.ts'
import { createProtection } from './files/protected-folders.ts'
import { Sandboxes } from './sandboxes.ts'
import { SessionWorkspaces } from './workspaces/session-workspaces.ts'

const [before, folder] = [process.env.TMPDIR, { path: '' }]
beforeEach(async () => {
  folder.path = await mkdtemp(join(tmpdir(), 'sandboxes-'))
  process.env.TMPDIR = folder.path
})
afterEach(async () => {
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
  await rm(folder.path, { recursive: true })
})

/** A command line is all that it makes: nothing is started here. */
const driver: SandboxDriver = {
  name: 'bubblewrap',
  probe: async () => ({ ok: true }),
  prepare: async () => ({
    ...{ command: '/bin/true', args: [], env: {}, descriptors: [] },
    admit: () => Promise.reject(new Error('nothing is started')),
    close: async () => {},
  }),
}

const none: SandboxDriver<unknown> = {
  name: 'none',
  probe: async () => ({ ok: false, reason: 'it is not installed', fix: 'install it' }),
  prepare: () => Promise.reject(new Error('nothing is prepared')),
}

const sandboxesOf = (record: () => void) =>
  new Sandboxes({
    drivers: { bubblewrap: driver, docker: none, podman: none },
    sweepContainers: async () => {},
    ...{ environment: { PATH: '/usr/bin:/bin' }, cwd: '/', allow: () => [], record, onEvent: () => {} },
    protection: createProtection({ userHome: '/home/somebody', own: [] }),
    limits: () => ({ memory: 1, processes: 1, temporaryFiles: 1 }),
    workspaces: new SessionWorkspaces({
      ...{ state: '/nowhere', environment: {}, folderOf: join, hasEnded: () => false },
      settings: () => ({ storage: 'memory', maxBytes: 1, age: 1 }),
    }),
    owner: 'test',
  })

const SERVER = {
  server: 'files',
  driver: 'auto',
  image: undefined,
  command: ['/bin/true'],
  cwd: undefined,
  env: {},
  mounts: [],
  calls: () => [],
} as const

const open = (record: () => void) =>
  sandboxesOf(record).open({ ...SERVER, networkMode: () => 'FULL', onNote: () => {} })

it('leaves no proxy and no folder if the start of a sandbox cannot be recorded', async () => {
  const full = new Error('the disk is full')
  await expect(
    open(() => {
      throw full
    }),
  ).rejects.toBe(full)
  expect(await readdir(folder.path)).toEqual([])
})

it('has both until it is closed', async () => {
  const sandbox = await open(() => {})
  const [name = ''] = await readdir(folder.path)
  expect(await readdir(join(folder.path, name))).toEqual(['egress.sock'])
  await sandbox.close()
  expect(await readdir(folder.path)).toEqual([])
})

it('narrows the others if one cannot be narrowed, which then has no proxy any more', async () => {
  const sandboxes = sandboxesOf(() => {})
  const notes: string[] = []
  let mode: NetworkMode = 'FULL'
  let isBroken = false
  const networkMode = (): NetworkMode => {
    if (isBroken) throw new Error('broken')
    return 'FULL'
  }
  await sandboxes.open({ ...SERVER, networkMode, onNote: (text) => notes.push(text) })
  const other = await sandboxes.open({ ...SERVER, networkMode: () => mode, onNote: () => {} })
  isBroken = true
  mode = 'NONE'
  sandboxes.narrow()
  expect(notes).toEqual([expect.stringContaining('could not be narrowed')])
  expect(other.apply((to) => ({ mode: to, allow: [] }))).toBeUndefined()
  await expect.poll(() => readdir(folder.path)).toHaveLength(1)
  await other.close()
})
