import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ownerFolder } from '../identity/identity.ts'
import { openLabelStore } from './label-store.ts'

const ADA = { userId: 'ada', sessionId: 'one' }

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'labels-'))
})

afterEach(async () => {
  await chmod(ownerFolder(folder, ADA.userId, ADA.sessionId), 0o700).catch(() => undefined)
  await rm(folder, { recursive: true, force: true })
})

const open = (problems: string[] = []) => openLabelStore(folder, { onProblem: (problem) => problems.push(problem) })

test('a session starts public, and reading writes nothing', async () => {
  expect(await open().read(ADA)).toEqual({ sensitivity: 'PUBLIC', datasets: [] })
  expect(await readdir(folder)).toEqual([])
})

test('a public dataset is stored and does not make the session private', async () => {
  const label = await open().raise(ADA, 'weather', 'PUBLIC')
  expect(label).toEqual({ sensitivity: 'PUBLIC', datasets: [{ name: 'weather', sensitivity: 'PUBLIC' }] })
})

test('a dataset can be raised again, and a lower level changes nothing', async () => {
  const store = open()
  await store.raise(ADA, 'payroll', 'CONFIDENTIAL')
  await store.raise(ADA, 'payroll', 'SECRET')
  const label = await store.raise(ADA, 'payroll', 'INTERNAL')
  expect(label).toEqual({ sensitivity: 'SECRET', datasets: [{ name: 'payroll', sensitivity: 'SECRET' }] })
  expect(await open().read(ADA)).toEqual(label)
})

test('each session of each user has its own label', async () => {
  const store = open()
  await store.raise(ADA, 'payroll', 'SECRET')
  for (const other of [
    { userId: 'ada', sessionId: 'two' },
    { userId: 'Ada', sessionId: 'one' },
    { userId: 'ada","one', sessionId: '' },
  ])
    expect((await store.read(other)).sensitivity).toBe('PUBLIC')
})

test('two open stores see each other’s changes', async () => {
  const [a, b] = [open(), open()]
  await a.read(ADA)
  await b.raise(ADA, 'x', 'INTERNAL')
  expect((await a.read(ADA)).sensitivity).toBe('INTERNAL')
  await Promise.all([a.raise(ADA, 'x', 'SECRET'), b.raise(ADA, 'x', 'CONFIDENTIAL')])
  for (const store of [a, b, open()]) expect((await store.read(ADA)).sensitivity).toBe('SECRET')
})

test.each([
  ['a path', '../../../etc/passwd'],
  ['an absolute path', '/etc/passwd'],
  ['a NUL', 'a\0b'],
  ['16,384 characters that JSON writes with six bytes each', '\u0001'.repeat(16_384)],
  ['10 KB', 'x'.repeat(10_240)],
  ['a lone surrogate', 'a\ud800b'],
  ['letters of other scripts and emoji', 'зарплата 給料 👩‍👩‍👧'],
  ['a line feed', 'a\nb'],
  ['the name of an inherited property', '__proto__'],
  ['a space', ' '],
])('a dataset whose name is %s is stored like any other, inside the folder', async (_, name) => {
  await open().raise(ADA, name, 'CONFIDENTIAL')
  expect(await open().read(ADA)).toEqual({
    sensitivity: 'CONFIDENTIAL',
    datasets: [{ name, sensitivity: 'CONFIDENTIAL' }],
  })
  expect((await readdir(folder)).sort()).toHaveLength(2)
})

test('names that a file system might treat as equal are different datasets', async () => {
  const names = ['é', 'e\u0301', 'E\u0301', 'a', 'A', 'a ', '\ud800', '\ud801', '\ufffd']
  const store = open()
  for (const name of names) await store.raise(ADA, name, 'INTERNAL')
  expect((await open().read(ADA)).datasets.map(({ name }) => name)).toEqual([...names].sort())
})

test('a dataset without a name, or with an invalid sensitivity, is refused and nothing is written', async () => {
  const store = open()
  await expect(store.raise(ADA, '', 'SECRET')).rejects.toThrow('has no name')
  await expect(store.raise(ADA, 'x'.repeat(16_385), 'SECRET')).rejects.toThrow('has 16385 characters')
  // @ts-expect-error: not a sensitivity
  await expect(store.raise(ADA, 'x', 'secret')).rejects.toThrow('has the sensitivity "secret"')
  expect(await readdir(folder)).toEqual([])
})

const folderName = ownerFolder('', ADA.userId, ADA.sessionId)

test.each<[string, (at: string) => Promise<unknown>]>([
  ['a foreign file', (at) => writeFile(join(at, 'notes.txt'), 'hello')],
  ['an empty file with a good name', (at) => writeFile(join(at, `internal-${'0'.repeat(64)}`), '')],
  ['a text that its name does not prove', (at) => writeFile(join(at, `public-${'a'.repeat(64)}`), '"payroll"')],
  ['a level that is none', (at) => writeFile(join(at, `open-${'a'.repeat(64)}`), '"payroll"')],
  ['a directory with a good name', (at) => mkdir(join(at, `internal-${'0'.repeat(64)}`))],
  ['a FIFO with a good name', async (at) => execFileSync('mkfifo', [join(at, `internal-${'0'.repeat(64)}`)])],
  ['a link that leads nowhere', (at) => symlink('/nowhere', join(at, `internal-${'0'.repeat(64)}`))],
])(
  '%s among the records makes the session as strict as can be, says so once, and ends with its removal',
  async (_, spoil) => {
    const problems: string[] = []
    const store = open(problems)
    await store.raise(ADA, 'x', 'INTERNAL')
    await spoil(join(folder, folderName))
    for (const each of [store, store, open([])]) expect((await each.read(ADA)).sensitivity).toBe('SECRET')
    expect((await store.read(ADA)).datasets).toEqual([{ name: 'x', sensitivity: 'INTERNAL' }])
    expect((await store.read(ADA)).problem).not.toContain(folder)
    expect(problems).toEqual([
      expect.stringMatching(/^\/.+: The file ".+" (is|cannot be) .+\. The session counts as SECRET/),
    ])
    for (const name of await readdir(join(folder, folderName)))
      if (!/^internal-(?!0{64})/.test(name)) await rm(join(folder, folderName, name), { recursive: true })
    expect((await store.read(ADA)).sensitivity).toBe('INTERNAL')
  },
)

test('a folder that cannot be listed counts as the strictest, and raising in it throws', async () => {
  const problems: string[] = []
  await writeFile(join(folder, folderName), 'a file where the folder should be')
  const store = open(problems)
  expect((await store.read(ADA)).sensitivity).toBe('SECRET')
  expect(problems).toEqual([expect.stringContaining('cannot be listed (ENOTDIR)')])
  await expect(store.raise(ADA, 'x', 'PUBLIC')).rejects.toMatchObject({ code: 'STATE_UNUSABLE' })
})

test('so does a session below something that is not a folder', async () => {
  const problems: string[] = []
  await writeFile(join(folder, 'file'), '')
  const store = openLabelStore(join(folder, 'file'), { onProblem: (problem) => problems.push(problem) })
  expect((await store.read(ADA)).sensitivity).toBe('SECRET')
  expect(problems).toEqual([expect.stringContaining('cannot be listed (ENOTDIR)')])
})

test('what could not be written still counts at once, and is written as soon as possible', async () => {
  await writeFile(join(folder, folderName), '')
  const store = open()
  await expect(store.raise(ADA, 'x', 'CONFIDENTIAL')).rejects.toThrow('was not raised')
  await expect(store.settle(ADA)).rejects.toThrow('was not raised')
  await rm(join(folder, folderName))
  expect((await store.read(ADA)).sensitivity).toBe('CONFIDENTIAL')
  expect((await open().read(ADA)).sensitivity).toBe('PUBLIC')
  await store.settle(ADA)
  expect((await open().read(ADA)).sensitivity).toBe('CONFIDENTIAL')
})

test('settling waits for statements that nobody awaited', async () => {
  const store = open()
  for (let index = 0; index < 20; index++) void store.raise(ADA, `set ${index}`, 'INTERNAL')
  await store.settle(ADA)
  expect((await open().read(ADA)).datasets).toHaveLength(20)
})

test('only the record files remain', async () => {
  await open().raise(ADA, 'x', 'SECRET')
  expect(await readdir(join(folder, '.incoming'))).toEqual([])
  expect(await readdir(join(folder, folderName))).toHaveLength(1)
})
