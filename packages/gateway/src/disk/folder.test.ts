import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scratchFolder } from '../store/scratch.test-kit.ts'
import { makePrivateFolder } from './folder.ts'

const modeOf = (path: string): number => statSync(path).mode & 0o777

describe('a private folder', () => {
  it('is created with all its parents, without a message', () => {
    const path = join(scratchFolder(), 'a', 'b')
    expect(makePrivateFolder(path)).toBeUndefined()
    expect(modeOf(path)).toBe(0o700)
  })

  it('is closed if it was open to others, which is reported once', () => {
    const path = scratchFolder()
    chmodSync(path, 0o750)
    expect(makePrivateFolder(path)).toContain('mode 750')
    expect(modeOf(path)).toBe(0o700)
    expect(makePrivateFolder(path)).toBeUndefined()
  })

  it.runIf(process.getuid?.() === 0)('is refused if it belongs to another user', () => {
    const path = join(scratchFolder(), 'x')
    mkdirSync(path)
    chownSync(path, 65_534, 65_534)
    expect(() => makePrivateFolder(path)).toThrow(
      expect.objectContaining({ code: 'STATE_UNUSABLE', hint: expect.stringContaining('chown') }),
    )
  })

  it('is refused if a file is there, with the code of the system and what to do', () => {
    const path = join(scratchFolder(), 'x')
    writeFileSync(path, '')
    expect(() => makePrivateFolder(path)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('EEXIST'),
        hint: expect.stringContaining('remove it'),
      }),
    )
  })
})
