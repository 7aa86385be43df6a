import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Column, renderFacts, renderTable } from './table.ts'
import { COLORED, displayWidth, truncateText } from './terminal-text.ts'

interface Row {
  readonly name: string
  readonly count: number
  readonly text: string
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'NAME', value: ({ name }) => name },
  { title: 'COUNT', value: ({ count }) => count, align: 'right' },
  { title: 'TEXT', value: ({ text }) => text, flexible: true },
]

describe('a table', () => {
  it('lines up its columns and leaves no space at the end of a line', () => {
    const rows = [
      { name: 'a', count: 1, text: 'one' },
      { name: 'longer', count: 100, text: '' },
    ]
    expect(renderTable({ columns: COLUMNS, rows, width: undefined })).toBe(
      ['NAME    COUNT  TEXT', 'a           1  one', 'longer    100', ''].join('\n'),
    )
  })

  it('narrows only its flexible columns to fit the terminal', () => {
    const rows = [{ name: 'a-name-that-stays', count: 5, text: 'x'.repeat(200) }]
    const lines = renderTable({ columns: COLUMNS, rows, width: 60 }).trimEnd().split('\n')
    expect(lines.every((line) => displayWidth(line) <= 60)).toBe(true)
    expect(lines[1]).toMatch(/^a-name-that-stays .*x…$/)
  })

  it('leaves out expendable columns, the last first, until the rest fits', () => {
    const columns: readonly Column<Row>[] = [
      { title: 'NAME', value: ({ name }) => name },
      { title: 'SPARE', value: () => 's'.repeat(20), expendable: true },
      { title: 'COUNT', value: ({ count }) => count },
      { title: 'TEXT', value: ({ text }) => text, flexible: true, expendable: true },
    ]
    const rows = [{ name: 'n'.repeat(20), count: 5, text: 'x'.repeat(60) }]
    const titlesAt = (width: number) => renderTable({ columns, rows, width }).split('\n')[0]?.split(/ +/)
    expect(titlesAt(120)).toEqual(['NAME', 'SPARE', 'COUNT', 'TEXT'])
    expect(titlesAt(90)).toEqual(['NAME', 'SPARE', 'COUNT', 'TEXT'])
    expect(titlesAt(80)).toEqual(['NAME', 'SPARE', 'COUNT'])
    expect(titlesAt(40)).toEqual(['NAME', 'COUNT'])
  })

  it('truncates nothing if the output is not a terminal', () => {
    const rows = [{ name: 'a', count: 5, text: 'x'.repeat(2_000) }]
    expect(renderTable({ columns: COLUMNS, rows, width: undefined })).toContain('x'.repeat(2_000))
  })

  it('keeps every row on one line and every control character visible, whatever a server sends', () => {
    const hostile = '\u001b]0;owned\u0007 a\r\nROOT  yes\u2028\u202eevil\u009b31m\ttab'
    const text = renderTable({ columns: COLUMNS, rows: [{ name: hostile, count: 1, text: hostile }], width: undefined })
    expect(text.split('\n')).toHaveLength(3)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/)
  })

  it('never grows beyond the terminal while its columns can be narrowed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 40, max: 200 }), (text, width) => {
        const rendered = renderTable({ columns: COLUMNS, rows: [{ name: 'n', count: 1, text }], width })
        for (const line of rendered.split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(width)
      }),
    )
  })

  it('paints cells without breaking the columns', () => {
    const painted: Column<Row>[] = [
      { title: 'NAME', value: ({ name }) => name, paint: (_, style) => style.red },
      ...COLUMNS,
    ]
    const text = renderTable({
      columns: painted,
      rows: [{ name: 'a', count: 1, text: 'b' }],
      width: 80,
      style: COLORED,
    })
    expect(text).toContain('\u001b[31ma   \u001b[39m  a ')
  })
})

describe('text for a terminal', () => {
  it('counts wide and combining characters as a terminal shows them', () => {
    expect(displayWidth('日本')).toBe(4)
    expect(displayWidth('e\u0301')).toBe(1)
    expect(displayWidth('👩‍👩‍👧')).toBe(2)
  })

  it('truncates between whole characters', () => {
    expect(truncateText('日本語テキスト', 6)).toBe('日本…')
    expect(truncateText('short', 6)).toBe('short')
  })
})

describe('facts', () => {
  it('leave out unknown values and indent further lines', () => {
    const text = renderFacts([
      { name: 'a', value: 'one\ntwo' },
      { name: 'unknown', value: undefined },
      { name: 'bcd', value: 'three' },
    ])
    expect(text).toBe('a    one\n     two\nbcd  three\n')
  })
})
