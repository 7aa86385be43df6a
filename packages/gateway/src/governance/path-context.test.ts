import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compilePathRules } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { createPathContext } from './path-context.ts'

const worldOf = (platform: string) =>
  createPathContext({ environment: { SET: '/set' }, userHome: '/home/ann', cwd: '/work', platform })

describe('the file system for path rules', () => {
  it('does not confuse the folder of the gateway with that of the server', () => {
    const judge = compilePathRules({ allowedPaths: { value: [process.cwd()], reason: '' } }, worldOf('linux'))
    expect(judge([{ where: 'path', value: '/proc/self/cwd/a.txt' }]).outcome).toBe('deny')
  })

  it('cannot follow a link whose target is not UTF-8', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-world-'))
    symlinkSync(Buffer.from([0xff]), join(folder, 'bytes'))
    symlinkSync('there', join(folder, 'text'))
    const { inspectLink } = worldOf('linux')
    expect(inspectLink?.(join(folder, 'bytes'))).toBe('unreadable')
    expect(inspectLink?.(join(folder, 'text'))).toEqual({ target: 'there' })
    expect(inspectLink?.(folder)).toBe('other')
    expect(inspectLink?.(join(folder, 'nothing'))).toBe('missing')
    expect(inspectLink?.(join(folder, 'a'.repeat(300)))).toBe('unreadable')
    rmSync(folder, { recursive: true })
  })

  it('does not list very large folders: then names that could be confused with others are not allowed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-world-'))
    const judge = compilePathRules({ allowedPaths: { value: [folder], reason: '' } }, worldOf('linux'))
    const outcomeOf = (name: string) => judge([{ where: 'path', value: join(folder, name) }]).outcome
    expect(outcomeOf('caf\u00e9')).not.toBe('deny')
    for (let at = 0; at <= 10_000; at++) writeFileSync(join(folder, String(at)), '')
    expect(worldOf('linux').listNames(folder)).toBeUndefined()
    expect(['caf\u00e9', 'cafe', '7'].map(outcomeOf).map((outcome) => outcome === 'deny')).toEqual([true, false, false])
    rmSync(folder, { recursive: true })
  })

  it('ignores case on platforms whose file systems do', () => {
    expect(['linux', 'darwin', 'win32'].map((platform) => worldOf(platform).case)).toEqual([
      ...['exact', 'folded', 'folded'],
    ])
  })

  it('knows the variables of the server, but no inherited properties', () => {
    const { environment } = worldOf('linux')
    expect(environment('SET')).toBe('/set')
    expect(environment('toString')).toBeUndefined()
  })
})
