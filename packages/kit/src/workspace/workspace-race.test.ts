import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { roundsOf } from '../../../../tests/harness/rounds.ts'
import { promise } from '../../../../tests/promises.ts'
import { ownerFolder } from '../identity/identity.ts'
import { createMcpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'
import { connectInMemory } from '../testing/testing.ts'
import {
  createWorkspace,
  currentWorkspace,
  currentWorkspaceRoot,
  hostToWorkspacePath,
  type Workspace,
  workspaceToHostPath,
} from './workspace.ts'

// Puts a link in the place of a thing and the thing back, as fast as it can, until its input ends. What operations made
// in that place meanwhile is put aside, so that the race goes on to the end.
const SWAPPER = `
  const { existsSync, renameSync, symlinkSync, unlinkSync, writeFileSync } = require('node:fs')
  const [place, target, aside] = process.argv.slice(1)
  process.stdin.on('end', () => process.exit()).resume()
  let count = 0
  const attempt = (work) => { try { work(); return true } catch { return false } }
  const clear = () => attempt(() => renameSync(place, aside + '/' + count++))
  const insist = (work) => { while (!attempt(work)) clear() }
  const round = () => {
    for (let n = 0; n < 100; n++) {
      attempt(() => renameSync(place, place + '.kept'))
      insist(() => symlinkSync(target, place))
      attempt(() => unlinkSync(place)) || clear()
      // A file may have been deleted before it could be kept.
      if (existsSync(place + '.kept')) insist(() => renameSync(place + '.kept', place))
      else attempt(() => writeFileSync(place, 'INSIDE', { flag: 'wx' }))
    }
    setImmediate(round)
  }
  process.stdout.write('ready')
  round()
`

let home: string
let swapper: ChildProcess | undefined

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'race-'))
  await mkdir(join(home, 'root/dir'), { recursive: true })
  await mkdir(join(home, 'outside'))
  await writeFile(join(home, 'root/dir/file'), 'INSIDE')
  await writeFile(join(home, 'outside/file'), 'OUTSIDE')
})

async function stopSwapper(): Promise<void> {
  if (swapper === undefined) return
  swapper.stdin?.end()
  await once(swapper, 'exit')
  swapper = undefined
}

afterEach(async () => {
  await stopSwapper()
  await rm(home, { recursive: true })
})

async function swap(place: string, target: string): Promise<void> {
  const names = [place, target, 'aside'].map((name) => join(home, name))
  await mkdir(join(home, 'aside'))
  swapper = spawn(process.execPath, ['-e', SWAPPER, ...names], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(swapper.stdout as NodeJS.ReadableStream, 'data')
}

const TURNS = roundsOf({ few: 2_000, many: 20_000 })

/** What an operation gave back besides a refusal; anything with OUTSIDE in it has escaped. */
type Operation = (workspace: Workspace, turn: number) => Promise<unknown>

const OPERATIONS: readonly Operation[] = [
  async (workspace) => (await workspace.readFile('/workspace/dir/file')).bytes.toString(),
  (workspace) => workspace.writeFile('/workspace/dir/file', 'INSIDE'),
  async (workspace) => (await workspace.readFile('/workspace/dir/file')).bytes.toString(),
  (workspace) => workspace.appendFile('/workspace/dir/log', 'line\n'),
  async (workspace) => (await workspace.readFile('/workspace/dir/file')).bytes.toString(),
  (workspace, turn) => workspace.makeDirectory(`/workspace/dir/made-${turn % 50}/deep`),
  (workspace) => workspace.editFile('/workspace/dir/file', (text) => `${text}`.replace('INSIDE', 'INSIDE ')),
  (workspace, turn) => workspace.writeFile(`/workspace/dir/new-${turn % 50}`, 'INSIDE'),
  async (workspace) => (await workspace.readFile('/workspace/dir/file')).bytes.toString(),
  (workspace, turn) => workspace.deleteFile(`/workspace/dir/new-${(turn + 7) % 50}`),
  (workspace, turn) => workspace.deleteDirectory(`/workspace/dir/made-${(turn + 5) % 50}/deep`),
  (workspace) => workspace.listDirectory('/workspace/dir'),
  (workspace) => workspace.deleteFile('/workspace/dir/file'),
  (workspace, turn) => workspace.rename(`/workspace/dir/new-${turn % 50}`, `/workspace/dir/moved-${turn % 50}`),
]

interface Tally {
  done: number
  raced: number
  failed: string[]
}

/** Of a path that is always there: only the swap can hide it, or turn it into a link. */
const RACED = /symbolic link|is a link|leads out|changed while|was replaced|no such file|of that name|cannot be reached/

async function operateMany(workspace: Workspace, operations: number): Promise<Tally> {
  const tally: Tally = { done: 0, raced: 0, failed: [] }
  const operate = async (turn: number): Promise<void> => {
    try {
      const value = JSON.stringify(await OPERATIONS[turn % OPERATIONS.length]?.(workspace, turn)) ?? ''
      tally.done++
      if (value.includes('OUTSIDE')) tally.failed.push(value)
    } catch (error) {
      checkMessage(error, tally)
    }
  }
  // On a busy machine one side may sleep for long: go on until both outcomes were seen often enough.
  const isEnough = (): boolean => Math.min(tally.done, tally.raced) >= 30
  for (let turn = 0; turn < operations || (turn < 20 * operations && !isEnough()); turn += 14)
    await Promise.all(Array.from({ length: 14 }, (_, index) => operate(turn + index)))
  return tally
}

function checkMessage(error: unknown, tally: Tally): void {
  const chain: string[] = []
  for (let at = error; at instanceof Error; at = at.cause) chain.push(at.message)
  const text = chain.join(' / ')
  if (text.includes(home) || text.includes('/proc')) tally.failed.push(text)
  if (/symbolic link|is a link|leads out|cannot be reached/.test(text)) tally.raced++
  else if (!RACED.test(text) && !text.includes('not empty')) tally.failed.push(text)
}

describe.runIf(process.platform === 'linux')(`swaps between check and use (${promise('KIT-3')})`, () => {
  test('a directory that keeps turning into a link reveals nothing and changes nothing outside', async () => {
    await writeFile(join(home, 'outside/new-1'), 'OUTSIDE')
    await mkdir(join(home, 'outside/made-1/deep'), { recursive: true })
    await swap('root/dir', 'outside')
    const tally = await operateMany(createWorkspace(join(home, 'root')), TURNS)
    await stopSwapper()
    expect(tally.failed).toEqual([])
    expect(tally.done).toBeGreaterThan(0)
    expect(tally.raced).toBeGreaterThan(0)
    expect((await readdir(join(home, 'outside'), { recursive: true })).sort()).toEqual([
      'file',
      'made-1',
      'made-1/deep',
      'new-1',
    ])
    expect(await readFile(join(home, 'outside/file'), 'utf8')).toBe('OUTSIDE')
    expect(await readdir(home)).toEqual(['aside', 'outside', 'root'])
  })

  test('a root that keeps turning into a link reveals nothing and changes nothing outside', async () => {
    const { tally, outside } = await operateWhileRootSwaps('linux', TURNS / 4)
    expect(tally.failed.filter((text) => text.includes('OUTSIDE'))).toEqual([])
    expect(outside).toEqual({ names: ['dir', 'dir/file', 'file'], text: 'OUTSIDE' })
  })

  // Without descriptors a pair of swaps can stay undetected: safe-open.ts says so.
  test('a root that keeps turning into a link is noticed without descriptors, too', async () => {
    const { tally } = await operateWhileRootSwaps('freebsd', 200)
    expect(tally.failed.filter((text) => text.includes(home))).toEqual([])
  })

  async function operateWhileRootSwaps(platform: NodeJS.Platform, operations: number) {
    const outside = join(home, 'outside')
    await mkdir(join(outside, 'dir'))
    await writeFile(join(outside, 'dir/file'), 'OUTSIDE')
    const workspace = createWorkspace(join(home, 'root'), { platform })
    await swap('root', 'outside')
    const tally = await operateMany(workspace, operations)
    await stopSwapper()
    expect(tally.raced).toBeGreaterThan(0)
    const names = (await readdir(outside, { recursive: true })).sort()
    return { tally, outside: { names, text: await readFile(join(outside, 'dir/file'), 'utf8').catch(() => '') } }
  }

  test('a root that was swapped is refused until it is back', async () => {
    const workspace = createWorkspace(join(home, 'root'))
    await rename(join(home, 'root'), join(home, 'away'))
    for (const swapIn of [
      () => symlink(join(home, 'outside'), join(home, 'root')),
      () => mkdir(join(home, 'root/dir'), { recursive: true }),
      () => symlink(join(home, 'away'), join(home, 'root')),
    ]) {
      await swapIn()
      await expect(workspace.readFile('/workspace/file')).rejects.toThrow('cannot be reached')
      await expect(workspace.writeFile('/workspace/new', 'x')).rejects.toThrow('cannot be reached')
      await expect(workspace.listDirectory('/workspace')).rejects.toThrow('cannot be reached')
      await rm(join(home, 'root'), { recursive: true })
    }
    await rename(join(home, 'away'), join(home, 'root'))
    expect((await workspace.readFile('/workspace/dir/file')).bytes.toString()).toBe('INSIDE')
    expect(await readdir(join(home, 'outside'))).toEqual(['file'])
  })

  test('a session whose folder is a link has no workspace', async () => {
    const server = createMcpServer('sample', { dataFolder: home, onBug: () => undefined })
    const handler = async () => (await currentWorkspace().readFile('/workspace/file')).bytes.toString()
    server.tool('read', { description: '', permission: READ }, handler)
    server.tool('root', { description: '', permission: READ }, () => {
      const root = currentWorkspaceRoot()
      return hostToWorkspacePath(root, workspaceToHostPath(root, '/workspace/a/b'))
    })
    const who = { userId: 'ada', sessionId: 'one' }
    const client = await connectInMemory(server, who)
    expect(await client.callTool('root')).toMatchObject({ content: [{ text: '/workspace/a/b' }] })
    const root = ownerFolder(join(home, 'workspaces'), who.userId, who.sessionId)
    await rm(root, { recursive: true })
    await symlink(join(home, 'outside'), root)
    expect(JSON.stringify(await client.callTool('read'))).toContain('cannot be created')
    await rm(root)
    await mkdir(root)
    await writeFile(join(root, 'file'), 'MADE ANEW')
    expect(await client.callTool('read')).toMatchObject({ content: [{ text: 'MADE ANEW' }] })
  })

  test('a file that keeps turning into a link is neither read nor written through', async () => {
    await swap('root/dir/file', 'outside/file')
    const workspace = createWorkspace(join(home, 'root'))
    const tally = await operateMany(workspace, TURNS / 4)
    await stopSwapper()
    expect(tally.failed).toEqual([])
    expect(tally.raced).toBeGreaterThan(0)
    expect(await readFile(join(home, 'outside/file'), 'utf8')).toBe('OUTSIDE')
    expect(await readdir(join(home, 'outside'))).toEqual(['file'])
  })
})
