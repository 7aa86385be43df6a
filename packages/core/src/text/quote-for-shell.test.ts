import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { quoteForShell } from './quote-for-shell.ts'

const HOSTILE = [
  'a b',
  "it's",
  '$(id)',
  '`id`',
  'a;b',
  'a\nb',
  'get_\u202eevil',
  "\u0007'\\",
  '',
  '*',
  '~',
  '\u{e0041}x',
]

describe('a word for a shell', () => {
  it('is not quoted if no shell needs it', () => {
    expect(quoteForShell('mcp__files__read-file')).toBe('mcp__files__read-file')
  })

  it.each(HOSTILE)('is read back as one unchanged word: %j', (word) => {
    const printed = execFileSync('bash', ['-c', `printf %s ${quoteForShell(word)}`], {
      env: { LC_ALL: 'C.UTF-8' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    expect(printed.toString()).toBe(word)
  })

  it('shows invisible characters as escapes', () => {
    for (const word of HOSTILE) expect(quoteForShell(word)).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })
})
