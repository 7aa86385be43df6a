import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type DiffLine, diffLines } from './diff-lines.ts'

const show = ({ kind, text, line }: DiffLine): string =>
  `${{ same: ' ', add: '+', del: '-', gap: '~' }[kind]}${line ?? ''} ${text}`

it('shows what changed with three lines around, and where lines are left out', () => {
  const before = 'a\nb\nc\nd\ne\nf\ng\nh\ni\nj'
  const after = 'a\nb\nc\nd\ne\nF\ng\nh\ni\nj'
  expect(diffLines(before, after).map(show)).toEqual([
    '~ …',
    ' 3 c',
    ' 4 d',
    ' 5 e',
    '-6 f',
    '+6 F',
    ' 7 g',
    ' 8 h',
    ' 9 i',
    '~ …',
  ])
})

it('shows nothing of equal texts', () => {
  expect(diffLines('a\nb', 'a\nb').map(show)).toEqual(['~ …'])
})

it('contains every removed and every added line, in order', () => {
  const texts = fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(texts, texts, (old, now) => {
      const lines = diffLines(old.join('\n'), now.join('\n')).filter(({ kind }) => kind !== 'gap')
      const apply = (without: 'add' | 'del'): string[] =>
        lines.filter(({ kind }) => kind !== without).map(({ text }) => text)
      // Lines that are left out are the same in both, so the rest of both is in order.
      expect(isSubsequence(apply('del'), now)).toBe(true)
      expect(isSubsequence(apply('add'), old)).toBe(true)
      expect(now.length - old.length).toBe(
        lines.filter(({ kind }) => kind === 'add').length - lines.filter(({ kind }) => kind === 'del').length,
      )
    }),
  )
})

function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0
  for (const line of whole) if (line === part[at]) at++
  return at === part.length
}
