import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { nameRunFolder, removeRunFolder } from './run-folder.ts'

const NOBODY = 65_534

/** Root may remove everything, so that it has to become somebody else. */
function asSomebody(use: () => void): void {
  if (process.geteuid?.() !== 0) return use()
  process.seteuid?.(NOBODY)
  try {
    use()
  } finally {
    process.seteuid?.(0)
  }
}

it('a folder with read-only subfolders of the agent is removed too, and no link is followed', () => {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-run-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  chmodSync(root, 0o777)
  asSomebody(() => {
    const theirs = join(root, 'theirs')
    mkdirSync(theirs)
    writeFileSync(join(theirs, 'file'), 'kept')
    chmodSync(theirs, 0o500)
    const run = nameRunFolder(join(root, 'state'))
    const cache = join(run.path, 'cache')
    mkdirSync(cache, { recursive: true, mode: 0o700 })
    writeFileSync(join(cache, 'module'), '')
    symlinkSync(theirs, join(cache, 'link'))
    chmodSync(cache, 0o500)
    removeRunFolder(run)
    expect(existsSync(run.path)).toBe(false)
    expect(readFileSync(join(theirs, 'file'), 'utf8')).toBe('kept')
  })
})
