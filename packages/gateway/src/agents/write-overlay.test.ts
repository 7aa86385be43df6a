import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { writeOverlay } from './write-overlay.ts'

function scratch(): { readonly user: string; readonly folder: string } {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-overlay-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const [user, folder] = [join(root, 'user'), join(root, 'run')]
  mkdirSync(user)
  mkdirSync(folder)
  return { user, folder }
}

it('all of the user’s files are linked, except those that the overlay writes', () => {
  const { user, folder } = scratch()
  writeFileSync(join(user, 'auth.json'), 'login')
  writeFileSync(join(user, 'settings.json'), 'own')
  mkdirSync(join(user, 'history'))
  const mirrors = [{ source: user, path: 'home/.agent', except: ['settings.json'] }]
  writeOverlay({ files: { 'home/.agent/settings.json': { ours: true } }, mirrors }, folder)
  const shown = join(folder, 'home/.agent')
  expect(readdirSync(shown).sort()).toEqual(['auth.json', 'history', 'settings.json'])
  expect(readFileSync(join(shown, 'auth.json'), 'utf8')).toBe('login')
  expect(lstatSync(join(shown, 'settings.json')).isFile()).toBe(true)
  expect((statSync(join(shown, 'settings.json')).mode & 0o777).toString(8)).toBe('600')
  expect((statSync(shown).mode & 0o777).toString(8)).toBe('700')
})

it('a change of a linked file changes the user’s file, as without the overlay', () => {
  const { user, folder } = scratch()
  writeFileSync(join(user, 'auth.json'), 'old')
  writeOverlay({ files: {}, mirrors: [{ source: user, path: 'home', except: [] }] }, folder)
  writeFileSync(join(folder, 'home/auth.json'), 'renewed')
  expect(readFileSync(join(user, 'auth.json'), 'utf8')).toBe('renewed')
})

it('no file of the user is overwritten if the overlay would write to a link', () => {
  const { user, folder } = scratch()
  writeFileSync(join(user, 'settings.json'), 'own')
  const mirrors = [{ source: user, path: 'home', except: [] }]
  expect(() => writeOverlay({ files: { 'home/settings.json': {} }, mirrors }, folder)).toThrow('EEXIST')
  expect(readFileSync(join(user, 'settings.json'), 'utf8')).toBe('own')
})

it('a user who has no such folder yet gets an empty one, in the overlay', () => {
  const { user, folder } = scratch()
  writeOverlay({ files: {}, mirrors: [{ source: join(user, 'none'), path: 'home', except: [] }] }, folder)
  expect(readdirSync(join(folder, 'home'))).toEqual([])
  expect(existsSync(join(user, 'none'))).toBe(false)
})
