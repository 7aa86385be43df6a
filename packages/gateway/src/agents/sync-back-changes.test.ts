import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { syncBackChanges } from './sync-back-changes.ts'
import { writeOverlay } from './write-overlay.ts'

function scratch(disk: string): string {
  const root = mkdtempSync(join(disk, 'sallyport-carry-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  return root
}

function opened(exceptions: readonly string[] = ['settings.json'], disk = tmpdir()) {
  const [user, folder] = [join(scratch(tmpdir()), 'user'), join(scratch(disk), 'run')]
  mkdirSync(user)
  mkdirSync(folder)
  writeFileSync(join(user, 'auth.json'), 'old')
  writeFileSync(join(user, 'settings.json'), 'own')
  const overlay = {
    files: { 'home/settings.json': { ours: true } },
    mirrors: [{ source: user, path: 'home', except: exceptions }],
  }
  writeOverlay(overlay, folder)
  return { user, folder, home: join(folder, 'home'), overlay }
}

it('a login that the agent renewed by replacing the file is moved to the user’s folder', () => {
  const { user, folder, home, overlay } = opened()
  writeFileSync(join(home, 'auth.json.new'), 'renewed')
  renameSync(join(home, 'auth.json.new'), join(home, 'auth.json'))
  expect(syncBackChanges(overlay, folder)).toEqual([])
  expect(readFileSync(join(user, 'auth.json'), 'utf8')).toBe('renewed')
})

it.each([tmpdir(), '/dev/shm'])(
  'a file of another user stays that user’s, for whom root ran the agent in %s',
  (disk) => {
    if (process.geteuid?.() !== 0) return
    const { user, folder, home, overlay } = opened(undefined, disk)
    chownSync(join(user, 'auth.json'), 65_534, 65_534)
    writeFileSync(join(home, 'auth.json.new'), 'renewed')
    renameSync(join(home, 'auth.json.new'), join(home, 'auth.json'))
    expect(syncBackChanges(overlay, folder)).toEqual([])
    expect(readFileSync(join(user, 'auth.json'), 'utf8')).toBe('renewed')
    expect(statSync(join(user, 'auth.json')).uid).toBe(65_534)
  },
)

it('new files and folders of the agent are moved to the user’s folder too', () => {
  const { user, folder, home, overlay } = opened()
  mkdirSync(join(home, 'history'))
  writeFileSync(join(home, 'history', 'one'), '1')
  expect(syncBackChanges(overlay, folder)).toEqual([])
  expect(readFileSync(join(user, 'history', 'one'), 'utf8')).toBe('1')
})

it('the file with the servers is never moved back, whatever the agent wrote', () => {
  const { user, folder, home, overlay } = opened()
  writeFileSync(join(home, 'settings.json'), 'rewritten')
  expect(syncBackChanges(overlay, folder)).toEqual([])
  expect(readFileSync(join(user, 'settings.json'), 'utf8')).toBe('own')
})

it('a folder in which we wrote is not moved back either', () => {
  const { user, folder } = opened()
  mkdirSync(join(folder, 'data', 'settings'), { recursive: true })
  const mirrors = [{ source: user, path: 'data', except: [] }]
  expect(syncBackChanges({ files: { 'data/settings/servers.json': {} }, mirrors }, folder)).toEqual([])
  expect(readdirSync(user).sort()).toEqual(['auth.json', 'settings.json'])
})

it('what cannot be moved is reported, and the existing file stays', () => {
  const { user, folder, home, overlay } = opened()
  mkdirSync(join(user, 'cache'))
  writeFileSync(join(user, 'cache', 'full'), '1')
  mkdirSync(join(home, 'cache'))
  expect(syncBackChanges(overlay, folder)).toEqual([join(user, 'cache')])
  expect(readdirSync(join(user, 'cache'))).toEqual(['full'])
})

it('an agent that did nothing leaves the user’s folder unchanged', () => {
  const { user, folder, overlay } = opened()
  const before = readdirSync(user)
  expect(syncBackChanges(overlay, folder)).toEqual([])
  expect(readdirSync(user)).toEqual(before)
})

it('a link instead of the folder moves no files of another folder', () => {
  const { user, folder, home, overlay } = opened()
  const other = join(folder, 'other')
  mkdirSync(other)
  writeFileSync(join(other, 'auth.json'), 'of another')
  rmSync(home, { recursive: true })
  symlinkSync(other, home)
  expect(syncBackChanges(overlay, folder)).toEqual([])
  expect(readFileSync(join(user, 'auth.json'), 'utf8')).toBe('old')
  expect(readdirSync(other)).toEqual(['auth.json'])
})
