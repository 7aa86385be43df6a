import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import type { SessionKey } from '../keys/keys.ts'
import { createWorkspace, type Workspace } from './workspace.ts'

const SECRET = 'Ada earns 5200'
const PATH = '/workspace/results/report.txt'

let root: string
let key: Buffer | undefined
let workspace: Workspace

const sessionKey: SessionKey = {
  find: () => key,
  obtain: async () => {
    key ??= randomBytes(32)
    return key
  },
}

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'sallyport-sealed-'))
  key = undefined
  workspace = createWorkspace(root, { sessionKey })
  await workspace.makeDirectory('/workspace/results')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function replaceKey(other: Buffer | undefined): void {
  key = other
}

const hostPath = (name = 'report.txt'): string => join(root, 'results', name)
const onDisk = (): string => readFileSync(hostPath(), 'latin1')
const read = async (path = PATH): Promise<string> => (await workspace.readFile(path)).bytes.toString()

describe(`files below /workspace/results (${promise('SEN-23')})`, () => {
  it('are encrypted on the disk, and everything that reads the workspace sees their content and size', async () => {
    expect(await workspace.writeFile(PATH, SECRET)).toEqual({ path: PATH, size: SECRET.length, isNew: true })
    expect(onDisk()).not.toContain(SECRET)
    expect(await read()).toBe(SECRET)
    expect(await workspace.stat(PATH)).toMatchObject({ kind: 'file', size: SECRET.length })
    const { entries } = await workspace.listDirectory('/workspace/results')
    expect(entries).toEqual([{ name: 'report.txt', kind: 'file', size: SECRET.length }])
    const { files } = await workspace.findFiles('/workspace')
    expect(files).toEqual([{ path: PATH, size: SECRET.length }])
    const part = await workspace.useFile(PATH, ({ read: readPart }) => readPart(4, 5))
    expect(part.toString()).toBe('earns')
  })

  it('can be appended to and edited, and stay encrypted', async () => {
    await workspace.appendFile(PATH, SECRET)
    await workspace.appendFile(PATH, ' a month')
    await workspace.editFile(PATH, (text) => text.replace('Ada', 'Eve'))
    expect(await read()).toBe('Eve earns 5200 a month')
    expect(onDisk()).not.toContain('5200')
    expect(readdirSync(join(root, 'results'))).toEqual(['report.txt'])
  })

  it('cannot be moved, and nothing can be moved to them', async () => {
    await workspace.writeFile(PATH, SECRET)
    await workspace.writeFile('/workspace/notes.txt', 'notes')
    for (const [from, to] of [
      [PATH, '/workspace/report.txt'],
      [PATH, '/workspace/results/other.txt'],
      ['/workspace/notes.txt', '/workspace/results/notes.txt'],
      ['/workspace/results', '/workspace/old'],
    ] as const)
      await expect(workspace.rename(from, to)).rejects.toThrow(/cannot be moved/)
    expect(await read()).toBe(SECRET)
  })

  it.each([
    ['without the key', () => replaceKey(undefined)],
    ['with another key', () => replaceKey(randomBytes(32))],
    ['if one took the place of another', () => renameSync(hostPath('other.txt'), hostPath())],
    ['if they were replaced by plain text', () => writeFileSync(hostPath(), 'Ada earns nothing')],
    ['if they were cut', () => writeFileSync(hostPath(), readFileSync(hostPath()).subarray(0, -1))],
  ])('are not read %s', async (_, spoil) => {
    await workspace.writeFile(PATH, SECRET)
    await workspace.writeFile('/workspace/results/other.txt', SECRET)
    spoil()
    await expect(read()).rejects.toThrow(/^\/workspace\/results\/report.txt: The stored result cannot be decrypted/)
    await expect(workspace.editFile(PATH, () => 'x')).rejects.toThrow(/cannot be decrypted/)
  })

  it('are the only ones: programs read the other files by their path', async () => {
    mkdirSync(join(root, 'data'))
    for (const path of ['notes.txt', 'data/results']) {
      await workspace.writeFile(`/workspace/${path}`, SECRET)
      expect(readFileSync(join(root, path), 'utf8')).toBe(SECRET)
    }
  })
})
