import { writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { compilePathGlob } from './find-files.ts'
import { createWorkspace } from './workspace.ts'

let root: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'find-'))
  for (const directory of ['src/deep', 'docs']) await mkdir(join(root, directory), { recursive: true })
  for (const file of ['a.ts', 'src/b.ts', 'src/deep/c.ts', 'docs/d.md']) await writeFile(join(root, file), file)
})

afterEach(() => rm(root, { recursive: true }))

const found = async (glob?: string, path = '/workspace'): Promise<readonly string[]> =>
  (await createWorkspace(root).findFiles(path, glob === undefined ? {} : { glob })).files.map((file) => file.path)

test('files are found by name anywhere, or by path from the start of the search', async () => {
  expect(await found()).toHaveLength(4)
  expect(await found('*.ts')).toEqual(['/workspace/a.ts', '/workspace/src/b.ts', '/workspace/src/deep/c.ts'])
  expect(await found('src/*.ts')).toEqual(['/workspace/src/b.ts'])
  expect(await found('src/**/*.ts')).toEqual(['/workspace/src/b.ts', '/workspace/src/deep/c.ts'])
  expect(await found('/*.ts', '/workspace/src')).toEqual(['/workspace/src/b.ts'])
})

test('links are neither followed nor returned', async () => {
  await symlink('/', join(root, 'out'))
  await symlink('.', join(root, 'docs/circle'))
  expect(await found()).toHaveLength(4)
})

test('a search that stops early reports it', async () => {
  const workspace = createWorkspace(root)
  expect(await workspace.findFiles('/workspace', { limit: 2 })).toMatchObject({ isWhole: false, files: { length: 2 } })
  expect(await workspace.findFiles('/workspace', { limit: 4 })).toMatchObject({ isWhole: true })
})

test('a directory with more names than are listed is searched completely', async () => {
  const names = Array.from({ length: 10_050 }, (_, index) => `n${index}`)
  for (const name of names) writeFileSync(join(root, 'docs', name), '')
  expect((await createWorkspace(root).findFiles('/workspace', { glob: 'n*', limit: 1 })).isWhole).toBe(false)
  expect((await createWorkspace(root).findFiles('/workspace', { glob: 'n100*' })).files).toHaveLength(61)
  const full = createWorkspace(root, { limits: { entries: 10_057 } })
  await expect(full.writeFile('/workspace/one-more', '')).rejects.toThrow('at most 10057')
})

test('no pattern is slow', () => {
  const matches = compilePathGlob(`${'**/a/'.repeat(150)}b`)
  expect(matches(Array.from({ length: 100 }, () => 'a'))).toBe(false)
})
