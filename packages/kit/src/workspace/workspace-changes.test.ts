import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { ToolRetryError } from '../retry-fatal-errors.ts'
import { createTemporaryName } from './temporary-name.ts'
import { createWorkspace, type Workspace } from './workspace.ts'

let home: string
let root: string

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'changes-')))
  root = join(home, 'root')
  await mkdir(join(root, 'sub'), { recursive: true })
  await mkdir(join(home, 'outside'))
  await writeFile(join(root, 'a.txt'), 'inside')
  await writeFile(join(home, 'outside/secret.txt'), 'OUTSIDE')
})

afterEach(() => rm(home, { recursive: true }))

const inRoot = (name: string): Promise<string> => readFile(join(root, name), 'utf8')
const outside = async (): Promise<unknown> => [
  await readdir(join(home, 'outside')),
  await readFile(join(home, 'outside/secret.txt'), 'utf8'),
  (await readdir(home)).sort(),
]
const UNTOUCHED = [['secret.txt'], 'OUTSIDE', ['outside', 'root']]

/** The error, after a look through all of its chain for names of the host. */
async function refusal(work: Promise<unknown>): Promise<Error> {
  const error = await work.then(
    (value) => expect.fail(`expected a refusal, got ${JSON.stringify(value)}`),
    (thrown: Error) => thrown,
  )
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    expect(`${at.message} ${at.stack} ${JSON.stringify(at)}`).not.toContain(home)
    expect(at.message).not.toContain('/proc')
  }
  return error
}

/** Every way to change something at a path. */
const CHANGES: Readonly<Record<string, (workspace: Workspace, path: string) => Promise<unknown>>> = {
  writeFile: (workspace, path) => workspace.writeFile(path, 'EVIL'),
  appendFile: (workspace, path) => workspace.appendFile(path, 'EVIL'),
  editFile: (workspace, path) => workspace.editFile(path, () => 'EVIL'),
  deleteFile: (workspace, path) => workspace.deleteFile(path),
  deleteDirectory: (workspace, path) => workspace.deleteDirectory(path),
  makeDirectory: (workspace, path) => workspace.makeDirectory(`${path}/new`),
  'rename from': (workspace, path) => workspace.rename(path, '/workspace/moved'),
  'rename to': (workspace, path) => workspace.rename('/workspace/a.txt', path),
}

describe.each(['linux', 'darwin', 'freebsd'] as const)(
  `changes made the way of %s (${promise('KIT-3')})`,
  (platform) => {
    const open = () => createWorkspace(root, { platform })

    test('a file is written, replaced, appended to, edited, moved and deleted', async () => {
      const workspace = open()
      expect(await workspace.writeFile('/workspace/sub/b.txt', 'one\n')).toEqual({
        path: '/workspace/sub/b.txt',
        size: 4,
        isNew: true,
      })
      expect(await workspace.writeFile('/workspace//sub/./b.txt', Buffer.from('ein\n'))).toMatchObject({ isNew: false })
      expect(await workspace.appendFile('/workspace/sub/b.txt', 'zwei\n')).toMatchObject({ size: 9, isNew: false })
      expect(await workspace.appendFile('/workspace/new.txt', 'x')).toMatchObject({ size: 1, isNew: true })
      await workspace.editFile('/workspace/sub/b.txt', (text) => text.replace('ein', 'uno'))
      expect(await inRoot('sub/b.txt')).toBe('uno\nzwei\n')
      await workspace.makeDirectory('/workspace/x/y/z')
      await workspace.makeDirectory('/workspace/x/y/z')
      await workspace.rename('/workspace/sub/b.txt', '/workspace/x/y/z/c.txt')
      await workspace.rename('/workspace/x/y', '/workspace/a')
      expect(await workspace.stat('/workspace/a/z/c.txt')).toMatchObject({ kind: 'file', size: 9 })
      await workspace.deleteFile('/workspace/a/z/c.txt')
      await workspace.deleteDirectory('/workspace/a/z')
      expect(await readdir(join(root, 'a'))).toEqual([])
      expect((await readdir(root)).sort()).toEqual(['a', 'a.txt', 'new.txt', 'sub', 'x'])
    })

    test('new files are accessible to their user only, and a replaced file keeps its mode', async () => {
      await open().writeFile('/workspace/new.txt', 'x')
      await open().makeDirectory('/workspace/d')
      expect((await stat(join(root, 'new.txt'))).mode & 0o777).toBe(0o600)
      expect((await stat(join(root, 'd'))).mode & 0o777).toBe(0o700)
      await chmod(join(root, 'a.txt'), 0o644)
      await open().writeFile('/workspace/a.txt', 'x')
      expect((await stat(join(root, 'a.txt'))).mode & 0o777).toBe(0o644)
    })

    test.each(Object.keys(CHANGES))('%s follows no link, in any position', async (name) => {
      await symlink(join(home, 'outside/secret.txt'), join(root, 'last'))
      await symlink(join(home, 'outside/none.txt'), join(root, 'dangling'))
      await symlink('../outside', join(root, 'relative'))
      await symlink(join(home, 'outside'), join(root, 'first'))
      await symlink(join(home, 'outside'), join(root, 'sub/middle'))
      await symlink('loop', join(root, 'loop'))
      await symlink('/proc/self/fd/1', join(root, 'magic'))
      await symlink('/proc/self/root', join(root, 'magic-root'))
      await symlink('a.txt', join(root, 'within'))
      const paths = ['last', 'dangling', 'relative', 'relative/secret.txt', 'first/secret.txt', 'first/new.txt']
      paths.push('sub/middle/secret.txt', 'loop', 'loop/x', 'magic', 'magic-root/tmp/x', 'within')
      for (const path of paths) {
        const error = await refusal(CHANGES[name]?.(open(), `/workspace/${path}`) ?? expect.fail())
        expect(error, path).toBeInstanceOf(ToolRetryError)
      }
      expect(await outside()).toEqual(UNTOUCHED)
      expect(await inRoot('a.txt')).toBe('inside')
      expect((await lstat(join(root, 'last'))).isSymbolicLink()).toBe(true)
    })

    test.each(Object.keys(CHANGES))('%s changes no file that has another hard link', async (name) => {
      await link(join(home, 'outside/secret.txt'), join(root, 'hard'))
      await refusal(CHANGES[name]?.(open(), '/workspace/hard') ?? expect.fail())
      expect((await stat(join(root, 'hard'))).nlink).toBe(2)
      expect(await outside()).toEqual(UNTOUCHED)
    })

    test.each(Object.keys(CHANGES))('%s changes no FIFO and no socket, and does not wait for them', async (name) => {
      execFileSync('mkfifo', [join(root, 'fifo')])
      const server = createServer().listen(join(root, 'socket'))
      await once(server, 'listening')
      try {
        for (const path of ['fifo', 'socket'])
          expect(await refusal(CHANGES[name]?.(open(), `/workspace/${path}`) ?? expect.fail()), path).toBeInstanceOf(
            ToolRetryError,
          )
        expect((await lstat(join(root, 'fifo'))).isFIFO()).toBe(true)
      } finally {
        server.close()
      }
    })

    test.each(Object.keys(CHANGES))('%s refuses a path that leads or seems to lead outside', async (name) => {
      const paths = ['/workspace/../outside/secret.txt', `${home}/outside/secret.txt`, '/workspace-evil/x', 'x', '']
      paths.push('/workspace/%2e%2e/outside/x', '/workspace/a\0b', '/workspace/a\nb', '/workspace/a\u009bb')
      paths.push(
        '/workspace/..\\outside',
        `/workspace/${'n'.repeat(256)}`,
        `/workspace${'/d'.repeat(101)}`,
        '/workspace/\ud800',
      )
      for (const path of paths) {
        const error = await CHANGES[name]?.(open(), path).then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
        expect(error, path).toBeInstanceOf(ToolRetryError)
      }
      expect(await outside()).toEqual(UNTOUCHED)
      expect((await readdir(root)).sort()).toEqual(['a.txt', 'sub'])
    })

    test('a name in full-width dots and slashes is a name', async () => {
      await open().writeFile('/workspace/．．／outside／x', 'inside')
      expect(await inRoot('．．／outside／x')).toBe('inside')
      expect(await outside()).toEqual(UNTOUCHED)
    })

    test('the workspace itself cannot be changed like a file', async () => {
      for (const [name, change] of Object.entries(CHANGES))
        if (name !== 'makeDirectory')
          expect(await refusal(change(open(), '/workspace')), name).toBeInstanceOf(ToolRetryError)
    })

    test('directories and files are not confused, and a move replaces nothing', async () => {
      const workspace = open()
      await mkdir(join(root, 'sub/full'))
      for (const change of [
        () => workspace.writeFile('/workspace/sub', 'x'),
        () => workspace.appendFile('/workspace/sub', 'x'),
        () => workspace.editFile('/workspace/sub', () => 'x'),
        () => workspace.deleteFile('/workspace/sub'),
        () => workspace.deleteDirectory('/workspace/a.txt'),
        () => workspace.deleteDirectory('/workspace/sub'),
        () => workspace.makeDirectory('/workspace/a.txt'),
        () => workspace.makeDirectory('/workspace/a.txt/b'),
        () => workspace.writeFile('/workspace/a.txt/b', 'x'),
        () => workspace.writeFile('/workspace/none/b', 'x'),
        () => workspace.rename('/workspace/none', '/workspace/b'),
        () => workspace.rename('/workspace/a.txt', '/workspace/sub'),
        () => workspace.rename('/workspace/sub', '/workspace/sub/full/sub'),
        () => workspace.rename('/workspace/sub', '/workspace/sub'),
      ])
        expect(await refusal(change())).toBeInstanceOf(ToolRetryError)
      expect(await inRoot('a.txt')).toBe('inside')
    })

    test('no descriptor and no unfinished file is left behind, by success or refusal', async () => {
      await symlink(join(home, 'outside'), join(root, 'first'))
      const workspace = createWorkspace(root, { platform, limits: { fileBytes: 10 } })
      await workspace.writeFile('/workspace/a.txt', 'x')
      const before = (await readdir('/proc/self/fd')).length
      for (const change of Object.values(CHANGES))
        for (const path of ['first', 'first/secret.txt', 'none/x', 'sub'])
          await change(workspace, `/workspace/${path}`).catch(() => undefined)
      await workspace.writeFile('/workspace/long', 'more than ten').catch(() => undefined)
      expect((await readdir('/proc/self/fd')).length).toBe(before)
      expect((await readdir(root, { recursive: true })).filter((name) => name.includes('.tmp'))).toEqual([])
    })
  },
)

test('concurrent edits and appends within a process lose nothing', async () => {
  const workspace = createWorkspace(root)
  const other = createWorkspace(root)
  await workspace.writeFile('/workspace/count', '0')
  await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      (index % 2 === 0 ? workspace : other).editFile('/workspace/count', (text) => `${Number(text) + 1}`),
    ),
  )
  expect(await inRoot('count')).toBe('50')
  await Promise.all(Array.from({ length: 50 }, () => workspace.appendFile('/workspace/log', 'line\n')))
  expect(await inRoot('log')).toBe('line\n'.repeat(50))
})

test('an edit fails if somebody else changed the file meanwhile', async () => {
  const change = createWorkspace(root).editFile('/workspace/a.txt', () => {
    execFileSync('sh', ['-c', `printf more >> ${join(root, 'a.txt')}`])
    return 'mine'
  })
  expect((await refusal(change)).message).toContain('changed while it was edited')
  expect(await inRoot('a.txt')).toBe('insidemore')
})

test('errors of the caller’s own function are not changed', async () => {
  const mine = Object.assign(new Error('mine'), { code: '23505' })
  const fail = (): never => {
    throw mine
  }
  await expect(createWorkspace(root).editFile('/workspace/a.txt', fail)).rejects.toBe(mine)
  await expect(createWorkspace(root).useFile('/workspace/a.txt', async () => fail())).rejects.toBe(mine)
  expect(await inRoot('a.txt')).toBe('inside')
})

test('a file that is not UTF-8 is not edited, and keeps its bytes', async () => {
  await writeFile(join(root, 'a.txt'), Buffer.from([0x66, 0xff, 0xfe]))
  await refusal(createWorkspace(root).editFile('/workspace/a.txt', (text) => `${text}!`))
  expect(await readFile(join(root, 'a.txt'))).toEqual(Buffer.from([0x66, 0xff, 0xfe]))
})

test('a byte order mark survives an edit', async () => {
  await writeFile(join(root, 'a.txt'), '\ufeffold')
  await createWorkspace(root).editFile('/workspace/a.txt', (text) => text.replace('old', 'new'))
  expect(await inRoot('a.txt')).toBe('\ufeffnew')
})

test('moves in opposite directions do not deadlock', async () => {
  const workspace = createWorkspace(root)
  await Promise.allSettled(
    Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0
        ? workspace.rename('/workspace/a.txt', '/workspace/b')
        : workspace.rename('/workspace/b', '/workspace/a.txt'),
    ),
  )
  expect((await readdir(root)).length).toBe(2)
})

describe('limits', () => {
  test('a file that would be too large is refused, and the old one stays', async () => {
    const workspace = createWorkspace(root, { limits: { fileBytes: 8 } })
    expect((await refusal(workspace.writeFile('/workspace/a.txt', '123456789'))).message).toContain('at most 8')
    expect((await refusal(workspace.appendFile('/workspace/a.txt', '789'))).message).toContain('9 bytes')
    expect((await refusal(workspace.editFile('/workspace/a.txt', () => '123456789'))).message).toContain('at most 8')
    expect(await inRoot('a.txt')).toBe('inside')
  })

  test('a full workspace accepts nothing more until something is deleted, by any process', async () => {
    const workspace = createWorkspace(root, { limits: { workspaceBytes: 20 } })
    await workspace.writeFile('/workspace/b', '0123456789')
    expect((await refusal(workspace.writeFile('/workspace/c', '01234'))).message).toContain('at most 20')
    await workspace.writeFile('/workspace/b', '012345')
    await workspace.writeFile('/workspace/c', '01234')
    expect((await refusal(workspace.appendFile('/workspace/c', '56789'))).message).toContain('Delete some files')
    await rm(join(root, 'b'))
    await workspace.appendFile('/workspace/c', '56789')
    await workspace.deleteFile('/workspace/c')
    await workspace.writeFile('/workspace/d', '0123456789')
  })

  test('are enforced for any number of concurrent writers', async () => {
    const workspace = createWorkspace(root, { limits: { workspaceBytes: 1_000_000 } })
    await workspace.writeFile('/workspace/first', 'x')
    const names = Array.from({ length: 60 }, (_, at) => `file-${at}`)
    const written = await Promise.allSettled(
      names.map((name) => workspace.writeFile(`/workspace/${name}`, Buffer.alloc(100_000))),
    )
    expect(written.filter(({ status }) => status === 'fulfilled')).toHaveLength(9)
    const sizes = await Promise.all(names.map((name) => stat(join(root, name)).catch(() => ({ size: 0 }))))
    expect(sizes.reduce((sum, { size }) => sum + size, 0)).toBe(900_000)
  })

  test('also apply to the number of files and directories', async () => {
    const workspace = createWorkspace(root, { limits: { entries: 4 } })
    await workspace.makeDirectory('/workspace/x/y')
    expect((await refusal(workspace.writeFile('/workspace/z', ''))).message).toContain('5 files and directories')
    await refusal(workspace.makeDirectory('/workspace/z'))
    await workspace.writeFile('/workspace/a.txt', 'may still be replaced')
  })

  test('the leftover of a killed writer is not listed, and is removed once it is old', async () => {
    const [old, young] = [createTemporaryName(), createTemporaryName()]
    for (const name of [old, young]) await writeFile(join(root, name), 'half')
    await utimes(join(root, old), 1, 1)
    const workspace = createWorkspace(root)
    expect((await workspace.listDirectory('/workspace')).entries.map(({ name }) => name)).toEqual(['a.txt', 'sub'])
    expect((await workspace.findFiles('/workspace')).files).toHaveLength(1)
    await refusal(workspace.readFile(`/workspace/${young}`))
    await workspace.writeFile('/workspace/b', '')
    expect(await readdir(root)).toContain(young)
    expect(await readdir(root)).not.toContain(old)
  })
})
