import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { link, mkdir, mkdtemp, readdir, realpath, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ToolFatalError, ToolRetryError } from '../retry-fatal-errors.ts'
import { createWorkspace, type Workspace } from './workspace.ts'

let home: string
let root: string

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'workspace-')))
  root = join(home, 'root')
  await mkdir(join(root, 'sub/deep'), { recursive: true })
  await mkdir(join(home, 'root-sibling'))
  await writeFile(join(root, 'a.txt'), 'inside')
  await writeFile(join(root, 'sub/deep/b.txt'), 'deep inside')
  await writeFile(join(home, 'secret.txt'), 'OUTSIDE')
  await writeFile(join(home, 'root-sibling/secret.txt'), 'OUTSIDE')
})

afterEach(() => rm(home, { recursive: true }))

const openDescriptors = async (): Promise<number> => (await readdir('/proc/self/fd')).length

async function refusal(work: Promise<unknown>): Promise<Error> {
  const error = await work.then(
    (value) => expect.fail(`expected a refusal, got ${JSON.stringify(value)}`),
    (thrown: Error) => thrown,
  )
  expect(error.message).not.toContain(home)
  expect(error.message).not.toContain('/proc')
  return error
}

const text = async (workspace: Workspace, path: string): Promise<string> =>
  (await workspace.readFile(path)).bytes.toString()

describe.each(['linux', 'darwin', 'freebsd'] as const)('opened the way of %s', (platform) => {
  const open = () => createWorkspace(root, { platform })

  test('files and directories are found under /workspace', async () => {
    expect(await text(open(), '/workspace/a.txt')).toBe('inside')
    expect(await text(open(), '/workspace/sub//./deep/b.txt')).toBe('deep inside')
    expect((await open().listDirectory('/workspace')).entries).toEqual([
      { name: 'a.txt', kind: 'file', size: 6 },
      { name: 'sub', kind: 'directory' },
    ])
  })

  test('a link is never followed, in any position, whether it leads outside or not', async () => {
    await symlink(join(home, 'secret.txt'), join(root, 'file-out'))
    await symlink(join(root, 'a.txt'), join(root, 'file-in'))
    await symlink(home, join(root, 'sub/dir-out'))
    await symlink('deep', join(root, 'sub/dir-in'))
    await symlink('loop', join(root, 'loop'))
    const paths = ['file-out', 'file-in', 'sub/dir-out/secret.txt', 'sub/dir-in/b.txt', 'loop', 'loop/x']
    for (const path of paths)
      expect(await refusal(open().readFile(`/workspace/${path}`)), path).toBeInstanceOf(ToolRetryError)
    for (const path of ['sub/dir-out', 'sub/dir-in', 'sub/dir-out/root-sibling'])
      expect(await refusal(open().listDirectory(`/workspace/${path}`)), path).toBeInstanceOf(ToolRetryError)
  })

  test('a root may itself be a link, as the operator’s choice', async () => {
    await symlink(root, join(home, 'alias'))
    expect(await text(createWorkspace(join(home, 'alias'), { platform }), '/workspace/a.txt')).toBe('inside')
  })

  test('a file with another hard link is refused', async () => {
    await link(join(home, 'secret.txt'), join(root, 'hard'))
    expect((await refusal(open().readFile('/workspace/hard'))).message).toContain('hard links')
  })

  test('a FIFO, a socket and a device are refused, without waiting for them', async () => {
    execFileSync('mkfifo', [join(root, 'fifo')])
    const server = createServer().listen(join(root, 'socket'))
    await once(server, 'listening')
    try {
      for (const name of ['fifo', 'socket'])
        expect((await refusal(open().readFile(`/workspace/${name}`))).message).toContain('neither a file nor')
      const devices = createWorkspace('/dev', { platform })
      expect((await refusal(devices.readFile('/workspace/zero'))).message).toContain('neither a file nor')
      expect((await open().listDirectory('/workspace')).entries).toContainEqual({ name: 'fifo', kind: 'other' })
    } finally {
      server.close()
    }
  })

  test('the error for a missing path, a path of the other kind or one below a file contains the agent’s path', async () => {
    const workspace = open()
    expect((await refusal(workspace.readFile('/workspace/none'))).message).toBe(
      '/workspace/none: there is no such file or directory.',
    )
    expect((await refusal(workspace.readFile('/workspace/sub'))).message).toContain('names a directory')
    expect((await refusal(workspace.listDirectory('/workspace/a.txt'))).message).toContain('names a file')
    expect(await refusal(workspace.readFile('/workspace/a.txt/b'))).toBeInstanceOf(ToolRetryError)
    expect(await refusal(workspace.readFile('/workspace/../secret.txt'))).toBeInstanceOf(ToolRetryError)
  })

  test('a missing root is fatal: no other path would help', async () => {
    const error = await refusal(createWorkspace(join(home, 'nowhere'), { platform }).readFile('/workspace/a.txt'))
    expect(error).toBeInstanceOf(ToolFatalError)
  })

  test('no descriptor is left behind, by success or refusal', async () => {
    await symlink(home, join(root, 'out'))
    await link(join(home, 'secret.txt'), join(root, 'hard'))
    const workspace = open()
    await workspace.readFile('/workspace/a.txt')
    const before = await openDescriptors()
    for (const path of ['a.txt', 'sub/deep/b.txt', 'none', 'sub/none/x', 'out', 'out/secret.txt', 'sub', 'hard'])
      await workspace.readFile(`/workspace/${path}`).catch(() => undefined)
    await workspace.listDirectory('/workspace/sub')
    expect(await openDescriptors()).toBe(before)
  })
})

test('a file is read in pages', async () => {
  const workspace = createWorkspace(root)
  const page = await workspace.readFile('/workspace/a.txt', { offset: 2, limit: 3 })
  expect({ ...page, bytes: page.bytes.toString() }).toEqual({ bytes: 'sid', size: 6, offset: 2 })
  expect((await workspace.readFile('/workspace/a.txt', { offset: 100 })).bytes).toHaveLength(0)
  for (const page of [{ offset: -1 }, { limit: 0.5 }, { offset: Number.NaN }])
    expect(await refusal(workspace.readFile('/workspace/a.txt', page))).toBeInstanceOf(ToolRetryError)
})

test('reading a huge file costs no more than the page', async () => {
  await truncate(join(root, 'a.txt'), 2 ** 40)
  const page = await createWorkspace(root).readFile('/workspace/a.txt', { offset: 2 ** 39, limit: 10 })
  expect(page.bytes).toEqual(Buffer.alloc(10))
  expect(page.size).toBe(2 ** 40)
})

test('a directory is listed in pages, in the order of its names', async () => {
  for (let index = 0; index < 30; index++) await writeFile(join(root, 'sub', `f${index}`), '')
  const page = await createWorkspace(root).listDirectory('/workspace/sub', { offset: 1, limit: 3 })
  expect(page).toMatchObject({ total: 31, offset: 1, overfull: false })
  expect(page.entries.map(({ name }) => name)).toEqual(['f0', 'f1', 'f10'])
})

test('links are listed as links, without their targets', async () => {
  await symlink(join(home, 'secret.txt'), join(root, 'sub/out'))
  const { entries } = await createWorkspace(root).listDirectory('/workspace/sub')
  expect(entries).toContainEqual({ name: 'out', kind: 'link' })
})

test.runIf(process.platform === 'linux')('the magic links of /proc lead nowhere', async () => {
  const proc = createWorkspace('/proc')
  const paths = ['self', 'self/root', `${process.pid}/root/etc/passwd`, `${process.pid}/cwd`, `${process.pid}/fd/0`]
  for (const path of [...paths, 'thread-self/root', `${process.pid}/exe`, `${process.pid}/task/${process.pid}/root`]) {
    expect(await refusal(proc.readFile(`/workspace/${path}`)), path).toBeInstanceOf(ToolRetryError)
    expect(await refusal(proc.appendFile(`/workspace/${path}`, 'x')), path).toBeInstanceOf(ToolRetryError)
  }
})
