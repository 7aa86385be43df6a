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
let isPrivate: boolean

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
  isPrivate = false
  workspace = createWorkspace(root, { sessionKey, isPrivate: async () => isPrivate })
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

  it('are the only ones of a public session: programs read the other files by their path', async () => {
    mkdirSync(join(root, 'data'))
    for (const path of ['notes.txt', 'data/results']) {
      await workspace.writeFile(`/workspace/${path}`, SECRET)
      expect(readFileSync(join(root, path), 'utf8')).toBe(SECRET)
    }
  })
})

describe(`files of a private session (${promise('SEN-23')})`, () => {
  const FILE = '/workspace/salaries.csv'
  const stored = (name = 'salaries.csv'): string => readFileSync(join(root, name), 'latin1')

  it('are encrypted on the disk, and have their content and size for everything that uses the workspace', async () => {
    isPrivate = true
    expect(await workspace.writeFile(FILE, SECRET)).toEqual({ path: FILE, size: SECRET.length, isNew: true })
    expect(stored()).not.toContain('5200')
    expect(await read(FILE)).toBe(SECRET)
    expect(await workspace.stat(FILE)).toMatchObject({ kind: 'file', size: SECRET.length })
    expect(await workspace.findFiles('/workspace')).toMatchObject({ files: [{ path: FILE, size: SECRET.length }] })
    const { entries } = await workspace.listDirectory('/workspace')
    expect(entries).toContainEqual({ name: 'salaries.csv', kind: 'file', size: SECRET.length })
    await workspace.appendFile(FILE, ' a month')
    await workspace.editFile(FILE, (text) => text.replace('Ada', 'Eve'))
    expect(await read(FILE)).toBe('Eve earns 5200 a month')
    expect(stored()).not.toContain('5200')
  })

  it('of earlier, when it was public, are read as they are, and encrypted with the next change', async () => {
    for (const name of ['appended', 'edited', 'replaced', 'left'])
      await workspace.writeFile(`/workspace/${name}`, 'menu ')
    isPrivate = true
    for (const name of ['appended', 'edited', 'replaced', 'left'])
      expect(await read(`/workspace/${name}`)).toBe('menu ')
    await workspace.appendFile('/workspace/appended', SECRET)
    await workspace.editFile('/workspace/edited', (text) => `${text}${SECRET}`)
    await workspace.writeFile('/workspace/replaced', SECRET)
    for (const name of ['appended', 'edited', 'replaced']) {
      expect(await read(`/workspace/${name}`)).toContain(SECRET)
      expect(stored(name)).not.toContain('5200')
    }
    expect(stored('left')).toBe('menu ')
  })

  it('stay encrypted whoever changes them, and can be moved and copied', async () => {
    isPrivate = true
    await workspace.makeDirectory('/workspace/hr')
    await workspace.writeFile(FILE, SECRET)
    // Another process that has not read the label yet.
    isPrivate = false
    await workspace.appendFile(FILE, ' a month')
    await workspace.editFile(FILE, (text) => text.replace('Ada', 'Eve'))
    expect(stored()).not.toContain('5200')
    await workspace.rename(FILE, '/workspace/hr/pay.csv')
    await workspace.rename('/workspace/hr', '/workspace/people')
    expect(await read('/workspace/people/pay.csv')).toBe('Eve earns 5200 a month')
  })

  it('of several megabytes are read, appended to and sized page by page', async () => {
    isPrivate = true
    const part = 'x'.repeat(9 * 1024 * 1024)
    await workspace.writeFile(FILE, part)
    await workspace.appendFile(FILE, part)
    expect(await workspace.appendFile(FILE, SECRET)).toMatchObject({ size: 2 * part.length + SECRET.length })
    const page = await workspace.readFile(FILE, { offset: 2 * part.length, limit: 100 })
    expect(page.bytes.toString()).toBe(SECRET)
  })

  it.each([
    ['without the key', () => replaceKey(undefined)],
    ['with another key', () => replaceKey(randomBytes(32))],
    ['if they were cut', () => writeFileSync(join(root, 'salaries.csv'), stored().slice(0, -1), 'latin1')],
  ])('are not read %s, and nothing else of the workspace is lost', async (_, spoil) => {
    await workspace.writeFile('/workspace/menu.txt', 'soup')
    isPrivate = true
    await workspace.writeFile(FILE, SECRET)
    spoil()
    await expect(read(FILE)).rejects.toThrow(/^\/workspace\/salaries.csv: The file cannot be decrypted/)
    await expect(workspace.appendFile(FILE, 'x')).rejects.toThrow(/cannot be decrypted/)
    expect(await read('/workspace/menu.txt')).toBe('soup')
    await workspace.writeFile(FILE, 'Ada earns 1')
    expect(await read(FILE)).toBe('Ada earns 1')
  })

  it('that only begin like an encrypted one are an error, and are never taken for one', async () => {
    await workspace.writeFile(FILE, `SPR1${'x'.repeat(100)}`)
    await expect(read(FILE)).rejects.toThrow(/cannot be decrypted/)
    await workspace.writeFile(FILE, 'SPR1')
    expect(await read(FILE)).toBe('SPR1')
  })
})
