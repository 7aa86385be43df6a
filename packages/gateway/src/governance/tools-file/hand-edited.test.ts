import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { roundsOf } from '../../../../../tests/harness/rounds.ts'
import { appendEntries, type NewEntry, toEntryValue } from './append-entries.ts'
import { handEdited } from './hand-edited.test-kit.ts'
import { createNewEntry, hostileEntry } from './new-entry.test-kit.ts'
import { parseToolsFile } from './parsed-file.ts'
import { setField } from './set-field.ts'
import { applySplices, type EditResult, type Splice } from './splice.ts'
import { ORACLES, type Oracle } from './yaml-oracle.test-kit.ts'

const RUNS = Number(process.env.PROPERTY_RUNS ?? roundsOf({ few: 300, many: 2_000 }))
const TIME = 600_000

type Mapping = Readonly<Record<string, unknown>>
type Changed = Extract<EditResult, { ok: true }>

const mappingOf = (value: unknown): Mapping => (value ?? {}) as Mapping

/** Restores the text before a change from the text after it. */
function undo({ text, splices }: Changed): string {
  let moved = 0
  const back = splices.map(({ at, removed, inserted }): Splice => {
    const position = at + moved
    moved += inserted.length - removed.length
    return { at: position, removed: inserted, inserted: removed }
  })
  return applySplices(text, back)
}

/** Checks what a file must contain after entries were added, compared with how one parser read it before. */
function expectAdded(oracle: Oracle, before: string, { change, entry }: { change: Changed; entry: NewEntry }): void {
  const was = oracle(before)
  // Parsers differ in what they reject. If one rejects the file before the change, it is not used.
  if (was === undefined) return
  const { tools, tool_categories: categories, toolCategories, ...rest } = mappingOf(was.value)
  const now = mappingOf(oracle(change.text)?.value)
  expect(now).toMatchObject(rest)
  expect(now.tools).toEqual({ ...mappingOf(tools), [entry.name]: toEntryValue(entry) })
  const { mcp, ...others } = mappingOf(now.tool_categories ?? now.toolCategories)
  const { mcp: earlier, ...earlierOthers } = mappingOf(categories ?? toolCategories)
  expect(others).toEqual(earlierOthers)
  if (earlier !== undefined) expect(mcp).toEqual(earlier)
  else if (change.skipped.length === 0) expect(mcp).toMatchObject({ risk_level: 'medium' })
}

describe('a file that people have edited', () => {
  it(
    'keeps every byte and every meaning when an entry is added, or is left alone with a reason',
    () => {
      let added = 0
      const check = (text: string, entry: NewEntry): void => {
        const change = appendEntries(parseToolsFile(text), [entry])
        if (!change.ok) {
          expect(change.why).not.toBe('')
          return
        }
        added++
        expect(undo(change)).toBe(text)
        expect(change.splices.every(({ removed }) => removed === '')).toBe(true)
        // Two splices only if the category goes into its own section.
        expect(change.splices.length).toBeLessThanOrEqual(/^\ufeff?tool_?[cC]ategories:/m.test(text) ? 2 : 1)
        for (const oracle of Object.values(ORACLES)) expectAdded(oracle, text, { change, entry })
        expect(appendEntries(parseToolsFile(change.text), [entry])).toMatchObject({
          ok: true,
          text: change.text,
          splices: [],
          skipped: [],
        })
      }
      void fc.assert(fc.property(handEdited, hostileEntry, check), { numRuns: RUNS })
      expect(added).toBeGreaterThan(RUNS / 2)
    },
    TIME,
  )

  it(
    'keeps every byte and every other meaning when a field is set, or is left alone with a reason',
    () => {
      let changed = 0
      const check = (
        text: string,
        { key, field, value }: { key: string; field: string; value: boolean | string },
      ): void => {
        const change = setField(parseToolsFile(text), { key, field, value })
        if (!change.ok) return
        changed++
        expect(undo(change)).toBe(text)
        expect(change.splices).toHaveLength(1)
        for (const oracle of Object.values(ORACLES)) {
          const was = oracle(text)
          if (was === undefined) continue
          const tools = mappingOf(mappingOf(was.value).tools)
          const entry = { ...mappingOf(tools[key]), [field]: value }
          expect(oracle(change.text)?.value).toEqual({ ...mappingOf(was.value), tools: { ...tools, [key]: entry } })
        }
      }
      const order = fc.record({
        key: fc.constantFrom(
          'mcp__server__tool_0',
          'mcp__server__tool_1',
          'mcp__server__quoted_0',
          'mcp__server__anchored_1',
        ),
        field: fc.constantFrom('note', 'pin', 'category'),
        value: fc.constantFrom('a: b # "c"', 'x'),
      })
      void fc.assert(fc.property(handEdited, order, check), { numRuns: RUNS })
      expect(changed).toBeGreaterThan(RUNS / 10)
    },
    TIME,
  )
})

describe('a file that only discovery has written', () => {
  it(
    'says of every tool what was meant, whatever servers call and describe it',
    () => {
      const check = (entries: readonly NewEntry[]): void => {
        const first = appendEntries(parseToolsFile(''), [createNewEntry()])
        const change = first.ok ? appendEntries(parseToolsFile(first.text), entries) : first
        if (!change.ok) expect.fail(change.why)
        const skipped = new Set(change.skipped.map(({ name }) => name))
        const written = [createNewEntry(), ...entries.toReversed()].filter(({ name }) => !skipped.has(name))
        const expected = Object.fromEntries(written.map((entry) => [entry.name, toEntryValue(entry)]))
        for (const oracle of Object.values(ORACLES))
          expect(oracle(change.text)).toMatchObject({ value: { tools: expected } })
        // Only visible characters and our own line endings, so that every reader sees the same lines.
        expect(change.text).not.toMatch(/[^\n\p{L}\p{M}\p{N}\p{P}\p{S} ]/u)
      }
      void fc.assert(fc.property(fc.array(hostileEntry, { maxLength: 4 }), check), { numRuns: RUNS / 4 })
    },
    TIME,
  )
})
