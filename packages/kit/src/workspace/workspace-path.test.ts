import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ToolRetryError } from '../retry-fatal-errors.ts'
import { hostToWorkspacePath, parseWorkspacePath, workspaceToHostPath } from './workspace-path.ts'

test.each([
  ['/workspace', []],
  ['/workspace/', []],
  ['/workspace/a/b.txt', ['a', 'b.txt']],
  ['/workspace//a/./b/', ['a', 'b']],
  ['/workspace/...', ['...']],
  ['/workspace/100%', ['100%']],
  ['/workspace/a b/é', ['a b', 'é']],
])('%s is split into its names', (path, segments) => {
  expect(parseWorkspacePath(path)).toEqual(segments)
})

test.each([
  [''],
  ['/'],
  ['a.txt'],
  ['/etc/passwd'],
  ['/workspace-evil/a'],
  ['/workspaceevil'],
  ['workspace/a'],
  ['//workspace/a'],
  ['/Workspace/a'],
  ['/workspace/../etc/passwd'],
  ['/workspace/a/..'],
  ['/workspace/%2e%2e/etc'],
  ['/workspace/%2E./etc'],
  ['/workspace/a%2fb'],
  ['/workspace/a%5Cb'],
  ['/workspace/a%00'],
  ['/workspace/a\0b'],
  ['/workspace/\ud800'],
  ['/workspace/a\\b'],
  ['/workspace/a\x1b[2J'],
  ['/workspace/a\x7f'],
  ['/workspace/a\u2028b'],
  [`/workspace${'/a'.repeat(101)}`],
  [`/workspace/${'a'.repeat(256)}`],
  [`/workspace/${'a/'.repeat(2100)}`],
  ['file:///workspace/a'],
])('%j is refused', (path) => {
  expect(() => parseWorkspacePath(path)).toThrow(ToolRetryError)
})

test('accepted paths consist of plain names', () => {
  const pieces = fc.constantFrom('/workspace', '/', '..', '.', 'a', '%2e', '%2E%2e', '\0', '\\', 'é', '\ud800', '…')
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      const read = attempt(parts.join(''))
      for (const segment of read ?? []) {
        expect(segment).not.toMatch(/^\.{0,2}$/)
        expect(segment).not.toMatch(/[/\0]|%2e/i)
      }
    }),
  )
})

function attempt(path: string): readonly string[] | undefined {
  try {
    return parseWorkspacePath(path)
  } catch (error) {
    expect(error).toBeInstanceOf(ToolRetryError)
    return undefined
  }
}

const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((text) => !text.includes('/') && attempt(`/workspace/${text}`)?.length === 1)

test('a path is the same after conversion to the host and back', () => {
  fc.assert(
    fc.property(fc.array(name, { maxLength: 8 }), (names) => {
      const path = ['/workspace', ...names].join('/')
      const host = workspaceToHostPath('/srv/data/me', path)
      expect(host === '/srv/data/me' || host.startsWith('/srv/data/me/')).toBe(true)
      expect(hostToWorkspacePath('/srv/data/me', host)).toBe(path)
      expect(workspaceToHostPath('/srv/data/me', hostToWorkspacePath('/srv/data/me', host))).toBe(host)
    }),
  )
})

test.each([['/srv/data'], ['/srv/data/me-too'], ['/srv/data/me/../you'], ['/etc/passwd'], ['me/a'], ['../me'], ['']])(
  'a host path %j outside the root has no name, and is not told',
  (host) => {
    const tell = (): string => hostToWorkspacePath('/srv/data/me', host)
    expect(tell).toThrow(ToolRetryError)
    expect(tell).not.toThrow('/srv')
  },
)

test('dots within a host path are resolved before the conversion', () => {
  expect(hostToWorkspacePath('/srv/me', '/srv/me/a/../b//c/')).toBe('/workspace/b/c')
  expect(hostToWorkspacePath('/srv/me/', '/srv/me/..a')).toBe('/workspace/..a')
})
