import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hideHostPaths } from './host-paths.ts'

describe('a text for callers', () => {
  it.each([
    ['there is no program /opt/tools/bin/server', 'there is no program …/server'],
    ['no program x in PATH (/usr/local/bin:/usr/bin)', 'no program x in PATH (…/bin:…/bin)'],
    ['its folder "/home/ann/my-data/" is gone', 'its folder "…/my-data" is gone'],
    ['~/state/logs cannot be written', '…/logs cannot be written'],
    ['C:\\Users\\ann\\x.exe failed', '…/x.exe failed'],
  ])('contains no folder of the host: %s', (text, shown) => {
    expect(hideHostPaths(text)).toBe(shown)
  })

  it.each([
    'http://127.0.0.1:4747/mcp/codex answered with 404',
    'see https://docs.example.org/a/b/c',
    'tools/call of github/search',
    '3 and/or 4, 1/2',
    'use /mcp',
  ])('preserves text other than host paths: %s', (text) => {
    expect(hideHostPaths(text)).toBe(text)
  })

  it('contains no folder of a path, at any position', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9_.-]{3,12}[a-z]$/)
    const before = fc.constantFrom('', 'at ', '"', '(', '=', ': ')
    fc.assert(
      fc.property(before, fc.array(name, { minLength: 2, maxLength: 6 }), (start, names) => {
        fc.pre(new Set(names).size === names.length)
        const shown = hideHostPaths(`${start}/${names.join('/')} failed`)
        for (const folder of names.slice(0, -1)) expect(shown).not.toContain(`/${folder}/`)
        expect(shown).toContain(`…/${names.at(-1)} failed`)
      }),
    )
  })
})
