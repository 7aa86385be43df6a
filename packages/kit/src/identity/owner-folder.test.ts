import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { ownerFolder } from './owner-folder.ts'

const ROOT = '/srv/data/workspaces'

/** The names on a file system that folds case and Unicode forms and removes trailing dots and spaces. */
const folded = (name: string) =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[. ]+$/, '')

const HOSTILE = [
  'ada',
  'Ada',
  'ADA',
  'ada.',
  'ada ',
  ' ada',
  'ada\u0000',
  'ada/b',
  '..',
  '.',
  '../../evil',
  '..\\..\\evil',
  '/etc/passwd',
  'C:\\evil',
  '\\\\host\\share',
  'CON',
  'con.txt',
  'nul',
  'COM1',
  'LPT9.',
  '~',
  '$HOME',
  '%2e%2e%2f',
  '\u00e9',
  'e\u0301',
  '\ufb01',
  'fi',
  'ﬀ',
  '\u212a',
  'k',
  'K',
  '🙂',
  '👨‍👩‍👧',
  '',
  ' ',
  '\u200b',
  '\ud800',
  '\udfff',
  '\ufffd',
  '\\ud800',
  '-',
  '--help',
  '__proto__',
  'x'.repeat(10_240),
  `${'x'.repeat(10_240)}y`,
  'ß',
  'ss',
  'İ',
  'i',
  'ada","b',
  'ada\\',
]

describe(`${promise('KIT-2')} the folder of an owner`, () => {
  it('is one name directly under the root, whatever the names of user and session', () => {
    const text = fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'binary' }), fc.string())
    fc.assert(
      fc.property(text, text, (user, session) => {
        const folder = ownerFolder(ROOT, user, session)
        expect(dirname(folder)).toBe(ROOT)
        expect(basename(folder)).toMatch(/^[a-z0-9]{1,24}-[0-9a-f]{64}$/)
        expect(ownerFolder(ROOT, user, session)).toBe(folder)
      }),
      { numRuns: 2_000 },
    )
  })

  it('is never shared by two owners, even on a file system that folds names', () => {
    const root = mkdtempSync(join(tmpdir(), 'sallyport-owners-'))
    onTestFinished(() => rmSync(root, { recursive: true }))
    for (const user of HOSTILE) for (const session of HOSTILE) mkdirSync(ownerFolder(root, user, session))
    const names = readdirSync(root)
    expect(names).toHaveLength(HOSTILE.length ** 2)
    expect(new Set(names.map(folded)).size).toBe(names.length)
  })

  it('is never shared by two owners that differ in anything', () => {
    const pair = fc.tuple(fc.string({ unit: 'binary', maxLength: 4 }), fc.string({ unit: 'binary', maxLength: 4 }))
    fc.assert(
      fc.property(pair, pair, (one, other) => {
        const same = one[0] === other[0] && one[1] === other[1]
        expect(folded(ownerFolder(ROOT, ...one)) === folded(ownerFolder(ROOT, ...other))).toBe(same)
      }),
      { numRuns: 2_000 },
    )
  })

  it('separates user and session: moving text from one to the other is another owner', () => {
    expect(ownerFolder(ROOT, 'ab', 'c')).not.toBe(ownerFolder(ROOT, 'a', 'bc'))
    expect(ownerFolder(ROOT, 'a","b', 'c')).not.toBe(ownerFolder(ROOT, 'a', 'b","c'))
    expect(ownerFolder(ROOT, 'a', 'b')).not.toBe(ownerFolder(ROOT, 'b', 'a'))
  })
})
