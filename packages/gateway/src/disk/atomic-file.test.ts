import { execFile } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { scratchFolder } from '../store/scratch.test-kit.ts'
import { findWriteProtection, removeFile, removeStaleTempFiles, replaceFile } from './atomic-file.ts'

const modeOf = (path: string) => statSync(path).mode & 0o777

describe('replacing a file', () => {
  test('creates a new one for its owner only, or with the requested mode', async () => {
    const folder = scratchFolder()
    await replaceFile(join(folder, 'a'), 'text')
    await replaceFile(join(folder, 'b'), new Uint8Array([1, 2]), { mode: 0o644 })
    expect([readFileSync(join(folder, 'a'), 'utf8'), modeOf(join(folder, 'a'))]).toEqual(['text', 0o600])
    expect([[...readFileSync(join(folder, 'b'))], modeOf(join(folder, 'b'))]).toEqual([[1, 2], 0o644])
    expect(readdirSync(folder)).toEqual(['a', 'b'])
  })

  test('preserves the mode of an existing one unless another is requested', async () => {
    const path = join(scratchFolder(), 'a')
    writeFileSync(path, 'old')
    chmodSync(path, 0o640)
    await replaceFile(path, 'new')
    expect(modeOf(path)).toBe(0o640)
    await replaceFile(path, 'newer', { mode: 0o600 })
    expect(modeOf(path)).toBe(0o600)
  })

  test('preserves a symbolic link, also to another folder and to a file that does not exist yet', async () => {
    const [here, there] = [scratchFolder(), scratchFolder()]
    writeFileSync(join(there, 'real'), 'old')
    for (const name of ['real', 'missing']) {
      symlinkSync(join(there, name), join(here, name))
      await replaceFile(join(here, name), `new ${name}`)
      expect(lstatSync(join(here, name)).isSymbolicLink()).toBe(true)
      expect(readlinkSync(join(here, name))).toBe(join(there, name))
      expect(readFileSync(join(there, name), 'utf8')).toBe(`new ${name}`)
    }
    expect([readdirSync(here), readdirSync(there)]).toEqual([
      ['missing', 'real'],
      ['missing', 'real'],
    ])
  })

  const isRoot = process.geteuid?.() === 0

  test('leaves a read-only one as it is, and says so', async () => {
    const path = join(scratchFolder(), 'a')
    writeFileSync(path, 'old', { mode: 0o444 })
    await expect(replaceFile(path, 'new')).rejects.toMatchObject({
      code: 'STATE_UNUSABLE',
      message: expect.stringContaining('it is read-only'),
    })
    expect([readFileSync(path, 'utf8'), modeOf(path), readdirSync(dirname(path))]).toEqual(['old', 0o444, ['a']])
  })

  test('preserves group and mode if it is allowed to', async () => {
    if (!isRoot) return
    const path = join(scratchFolder(), 'a')
    writeFileSync(path, 'old')
    chmodSync(path, 0o664)
    chownSync(path, 0, 65_533)
    await replaceFile(path, 'new')
    const { uid, gid } = statSync(path)
    expect([readFileSync(path, 'utf8'), uid, gid, modeOf(path)]).toEqual(['new', 0, 65_533, 0o664])
  })

  test('leaves another user’s file as it is, even if the folder would allow it, and also as root', async () => {
    expect(findWriteProtection({ uid: 4_711, mode: 0o100_666 })).toBe('it belongs to another user (uid 4711)')
    if (!isRoot) return
    const folder = scratchFolder()
    const path = join(folder, 'a')
    writeFileSync(path, 'old')
    chownSync(path, 65_534, 65_534)
    await expect(replaceFile(path, 'new')).rejects.toThrow('it belongs to another user (uid 65534)')
    chownSync(path, 0, 0)
    chmodSync(path, 0o666)
    chmodSync(folder, 0o777)
    const program = `
      process.setgid(65534); process.setuid(65534)
      const { replaceFile } = await import(${JSON.stringify(join(import.meta.dirname, '../../dist/disk/atomic-file.js'))})
      console.log(await replaceFile(${JSON.stringify(path)}, 'new').catch((error) => error.message))
    `
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
    expect(stdout).toContain('it belongs to another user (uid 0)')
    expect([readFileSync(path, 'utf8'), statSync(path).uid, readdirSync(folder)]).toEqual(['old', 0, ['a']])
  })

  test('that fails says why and leaves nothing behind', async () => {
    const folder = scratchFolder()
    mkdirSync(join(folder, 'taken', 'full'), { recursive: true })
    await expect(replaceFile(join(folder, 'taken'), 'x')).rejects.toMatchObject({ code: 'STATE_UNUSABLE' })
    await expect(replaceFile(join(folder, 'no', 'such'), 'x')).rejects.toMatchObject({ code: 'STATE_UNUSABLE' })
    expect(readdirSync(folder)).toEqual(['taken'])
  })

  test('many times at once leaves one complete content', async () => {
    const folder = scratchFolder()
    const contents = Array.from({ length: 20 }, (_, at) => String(at).repeat(50_000))
    await Promise.all(contents.map((content) => replaceFile(join(folder, 'a'), content)))
    expect(contents).toContain(readFileSync(join(folder, 'a'), 'utf8'))
    expect(readdirSync(folder)).toEqual(['a'])
  })
})

test('removing a file reports whether it existed', () => {
  const folder = scratchFolder()
  writeFileSync(join(folder, 'a'), '')
  expect([removeFile(join(folder, 'a')), removeFile(join(folder, 'a'))]).toEqual([true, false])
  expect(() => removeFile(folder)).toThrow()
})

test('a sweep removes only what dead or very old writers left', () => {
  const folder = scratchFolder()
  const dead = '.a.json.4194999-0123456789ab.sallyport-tmp'
  const forgotten = '.a.json.1-0123456789ab.sallyport-tmp'
  const busy = '.b.json.1-0123456789ab.sallyport-tmp'
  const foreign = '.a.json.tmp'
  for (const name of [dead, forgotten, busy, foreign]) writeFileSync(join(folder, name), '')
  utimesSync(join(folder, forgotten), 0, 0)
  removeStaleTempFiles(folder)
  expect(readdirSync(folder)).toEqual([foreign, busy].sort())
})
