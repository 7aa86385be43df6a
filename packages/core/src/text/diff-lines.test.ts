import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diffLines } from './diff-lines.ts'

const shown = (before: readonly string[], after: readonly string[]): readonly string[] =>
  diffLines(before, after).map(({ mark, text }) => `${mark} ${text}`)

test('equal texts have no difference', () => {
  expect(diffLines(['a', 'b'], ['a', 'b'])).toEqual([])
  expect(diffLines([], [])).toEqual([])
})

test('a changed line is shown with its context, and lines far away are counted', () => {
  const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`)
  expect(shown(lines, lines.with(10, 'new'))).toEqual([
    '… 7 lines unchanged',
    '  line 7',
    '  line 8',
    '  line 9',
    '- line 10',
    '+ new',
    '  line 11',
    '  line 12',
    '  line 13',
    '… 6 lines unchanged',
  ])
})

test('moved lines are not shown as completely new', () => {
  expect(shown(['a', 'b', 'c'], ['b', 'c', 'a'])).toEqual(['- a', '  b', '  c', '+ a'])
})

test('both texts can be rebuilt from the lines', () => {
  const line = fc.constantFrom('a', 'b', 'c', '')
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), fc.array(line, { maxLength: 6 }), (before, after) => {
      const lines = diffLines(before, after)
      const side = (mark: string) => lines.filter((one) => one.mark === mark || one.mark === ' ')
      if (lines.length === 0) expect(before).toEqual(after)
      else if (!lines.some(({ mark }) => mark === '…')) {
        expect(side('-').map(({ text }) => text)).toEqual(before)
        expect(side('+').map(({ text }) => text)).toEqual(after)
      }
    }),
  )
})

test('each line has its number: a removed one in the first text, the others in the second', () => {
  const lines = Array.from({ length: 9 }, (_, at) => `line ${at + 1}`)
  const shown = diffLines(lines, ['first', ...lines.slice(0, 4), ...lines.slice(5)])
  expect(shown.map(({ mark, line }) => `${mark}${line ?? ''}`)).toEqual([
    '+1',
    ' 2',
    ' 3',
    ' 4',
    ' 5',
    '-5',
    ' 6',
    ' 7',
    ' 8',
    '…',
  ])
})

test('changes all over a long text are shown without the lines between them', () => {
  const entry = (at: number, risk: string): readonly string[] => [`tool ${at}:`, `  risk: ${risk}`, '  asks: true']
  const text = (risk: (at: number) => string) => Array.from({ length: 4_000 }, (_, at) => entry(at, risk(at))).flat()
  const before = text(() => 'low')
  const after = text((at) => (at % 100 === 0 ? 'high' : 'low'))
  const changed = diffLines(before, after).filter(({ mark }) => mark === '-' || mark === '+')
  expect(changed).toHaveLength(80)
  for (const { mark, text: line } of changed) expect(line).toBe(mark === '-' ? '  risk: low' : '  risk: high')
  expect(changed.at(-1)).toMatchObject({ mark: '+', line: 3_900 * 3 + 2 })
})

test('long texts can be rebuilt from the lines, even if hardly a line keeps its place', () => {
  const before = Array.from({ length: 5_000 }, (_, at) => `line ${at % 2 === 0 ? at : 'same'}`)
  const after = before.toReversed()
  const lines = diffLines(before, after)
  const side = (mark: string) => lines.filter((one) => one.mark === mark || one.mark === ' ').map(({ text }) => text)
  expect(lines.filter(({ mark }) => mark === '…')).toEqual([])
  expect(side('-')).toEqual(before)
  expect(side('+')).toEqual(after)
})

test('texts that are too long to compare are shown as a whole, quickly', () => {
  const before = Array.from({ length: 50_000 }, (_, at) => `old ${at}`)
  const after = Array.from({ length: 50_000 }, (_, at) => `new ${at}`)
  expect(diffLines(before, after)).toHaveLength(100_000)
})
