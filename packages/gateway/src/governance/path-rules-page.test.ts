import { readFileSync } from 'node:fs'
import { checkPathPattern, compilePathRules, findPaths } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { compilePattern } from './linear-pattern.ts'
import { createPathContext } from './path-context.ts'

const page = readFileSync(new URL('../../../../docs/path-rules.md', import.meta.url), 'utf8')

const world = createPathContext({
  environment: { VAR: '/var', SCRATCH: '/scratch' },
  userHome: '/home/someone',
  cwd: '/app',
  platform: 'linux',
})

const rowsAfter = (heading: string): readonly (readonly string[])[] =>
  (page.split(heading)[1] ?? '')
    .split('\n\n')[1]
    ?.split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim())) ?? []

describe('docs/path-rules.md', () => {
  const examples = rowsAfter('none of them forbidden:')

  it('has examples', () => {
    expect(examples.length).toBeGreaterThan(12)
  })

  it.each(examples.map(([, value = '', verdict = '']) => [value.replaceAll('`', ''), verdict.split(/\W/)[0] ?? '']))(
    'is right that %s is %s',
    (value, verdict) => {
      const judge = compilePathRules({ allowedPaths: { value: ['/app'], reason: '' } }, world)
      const { outcome } = judge(findPaths({ path: value }, undefined))
      expect(outcome).toBe(verdict === 'allowed' ? 'allow' : 'deny')
    },
  )

  it('shows only valid patterns', () => {
    const shown = rowsAfter('### Patterns').flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)])
    expect(shown.length).toBeGreaterThan(8)
    for (const [, pattern = ''] of shown)
      expect([pattern, checkPathPattern(pattern, world)]).toEqual([pattern, undefined])
    for (const source of ['^/srv/[a-z]+$', 'rm\\s+-rf', '(?i)drop\\s+table'])
      expect(typeof compilePattern(source)).toBe('function')
  })
})
