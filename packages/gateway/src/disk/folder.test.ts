import { chmodSync, chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scratchFolder } from '../store/scratch.test-kit.ts'
import { makePrivateFolder } from './folder.ts'

const modeOf = (path: string): number => statSync(path).mode & 0o777

describe('a private folder', () => {
  it('is made with all folders above it, and needs no word', () => {
    const path = join(scratchFolder(), 'a', 'b')
    expect(makePrivateFolder(path)).toBeUndefined()
    expect(modeOf(path)).toBe(0o700)
  })

  it('is closed when it was open, and that is told once', () => {
    const path = scratchFolder()
    chmodSync(path, 0o750)
    expect(makePrivateFolder(path)).toContain('mode 750')
    expect(modeOf(path)).toBe(0o700)
    expect(makePrivateFolder(path)).toBeUndefined()
  })

  it.runIf(process.getuid?.() === 0)('is refused when it is somebody else’s', () => {
    const path = join(scratchFolder(), 'x')
    mkdirSync(path)
    chownSync(path, 65_534, 65_534)
    expect(() => makePrivateFolder(path)).toThrow(
      expect.objectContaining({ code: 'STATE_UNUSABLE', hint: expect.stringContaining('chown') }),
    )
  })

  it('is refused where a file stands, with the code of the system and what to do', () => {
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
