import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { handEdited, withTypo } from './hand-edited.test-kit.ts'
import { readEntryValue } from './matches-intent.ts'
import { createNewEntry } from './new-entry.test-kit.ts'
import { type ParseResult, parseChanged, parseToolsFile } from './parsed-file.ts'
import { appendEntries, readToolsFile } from './tools-file.ts'

/** The complete result of parsing a file, except caches. */
function known(parsing: ParseResult): unknown {
  if (!parsing.ok) return parsing
  const { source, sections, entries, root, originalOffset, outline } = parsing.file
  const offsets = Array.from({ length: 50 }, (_, offset) => originalOffset(offset))
  const values = entries.map((entry) => [entry.key, entry.line, entry.range, readEntryValue(entry)])
  return { source, sections, values, root: root.value, offsets, outline, read: readToolsFile(parsing, 'tools.yaml') }
}

const DISCOVERED = ['a', 'b'].reduce((text, name) => {
  const change = appendEntries(parseToolsFile(text), [createNewEntry({ name: `mcp__files__${name}` })])
  return change.ok ? change.text : text
}, '')

const text = fc.oneof(handEdited, withTypo, fc.constant(DISCOVERED))
const inserted = fc.oneof(
  fc.constantFrom('', '\n', ' ', '#', '  d:\n', '    hidden: true\n', 'tools:\n', '...\n', 'x: "\n', '"', '\r', '\t'),
  fc.string({ maxLength: 10 }),
)

/** A position in a text: in half of the cases the start of a line. */
function positionIn(whole: string, at: number): number {
  const offset = at % (whole.length + 1)
  return at % 2 === 0 ? offset : whole.lastIndexOf('\n', offset) + 1
}

interface Edit {
  readonly offset: number
  readonly more: string
  readonly removed: number
}

const edited = (whole: string, { offset, more, removed }: Edit): string =>
  whole.slice(0, offset) + more + whole.slice(offset + removed)

describe('a file that was changed somewhere', () => {
  it('is parsed as if it were parsed for the first time', () => {
    fc.assert(
      fc.property(text, fc.nat(), inserted, fc.nat({ max: 20 }), (whole, at, more, removed) => {
        const before = parseToolsFile(whole)
        if (!before.ok) return
        // Read it before the change: these cached results must not be reused wrongly.
        readToolsFile(before, 'tools.yaml')
        const offset = positionIn(whole, at)
        const now = edited(whole, { offset, more, removed })
        expect(known(parseChanged(now, before.file, offset))).toEqual(known(parseToolsFile(now)))
      }),
      { numRuns: 300 },
    )
  })

  it('is parsed correctly for changes around every line break of a file that discovery wrote', () => {
    const whole = DISCOVERED.slice(DISCOVERED.indexOf('tools:'))
    const before = parseToolsFile(whole)
    if (!before.ok) expect.fail('it cannot be read')
    const breaks = Array.from(whole.matchAll(/\n/g), ({ index }) => index)
    for (const offset of breaks.flatMap((at) => [at - 1, at, at + 1]))
      for (const more of ['', 'x', '  ', '\n  mcp__files__d:\n'])
        for (const removed of [0, 30]) {
          const now = edited(whole, { offset, more, removed })
          expect(known(parseChanged(now, before.file, offset))).toEqual(known(parseToolsFile(now)))
        }
  })

  it('repeats the warnings of entries before the change', () => {
    const whole = 'tools:\n  a:\n    colour: red\n  b:\n    hidden: true\n  c:\n    hidden: 7\n  d:\n'
    const before = parseToolsFile(whole)
    if (!before.ok) expect.fail('it cannot be read')
    expect(readToolsFile(before, 'tools.yaml')).toMatchObject({ ok: false, issue: { line: 7 } })
    const now = `${whole}  e:\n    hidden: true\n`
    expect(known(parseChanged(now, before.file, whole.length))).toEqual(known(parseToolsFile(now)))
  })

  it('reuses the entries before the change', () => {
    const before = parseToolsFile(DISCOVERED)
    if (!before.ok) expect.fail('it cannot be read')
    const after = parseChanged(`${DISCOVERED}\n`, before.file, DISCOVERED.length)
    if (!after.ok) expect.fail('it cannot be read')
    const cuts = [before, after].map(({ file }) => file.entries.map(({ range }) => range))
    expect(cuts[1]?.slice(0, 1).every((cut, index) => cut === cuts[0]?.[index])).toBe(true)
    expect(cuts[1]?.[1]).not.toBe(cuts[0]?.[1])
  })
})
