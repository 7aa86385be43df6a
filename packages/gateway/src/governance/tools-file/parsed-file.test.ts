import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { roundsOf } from '../../../../../tests/harness/rounds.ts'
import { handEdited, withTypo } from './hand-edited.test-kit.ts'
import { readEntryValue } from './matches-intent.ts'
import { type ParsedFile, parseToolsFile } from './parsed-file.ts'
import { yaml12 } from './yaml-oracle.test-kit.ts'

const RUNS = Number(process.env.PROPERTY_RUNS ?? roundsOf({ few: 300, many: 1_000 }))

/** The whole file as a plain value. */
function wholeOf({ root, entries }: ParsedFile): unknown {
  if (entries.length === 0) return root.value
  const tools = Object.fromEntries(entries.map((entry) => [entry.key, readEntryValue(entry)]))
  return { ...(root.value as object), tools }
}

/** Input that is refused here although the parser would accept it. */
const STRICTER = /carriage return|as the key|merge key/

function agrees(text: string): boolean {
  const parsing = parseToolsFile(text)
  const whole = yaml12(text)
  if (parsing.ok) expect(wholeOf(parsing.file)).toEqual(whole?.value)
  else if (!STRICTER.test(parsing.problem.problem)) expect(whole, parsing.problem.problem).toBeUndefined()
  return parsing.ok
}

describe('a file that is partly read line by line', () => {
  it('has the same meaning as if the parser had read all of it', () => {
    let read = 0
    const check = (text: string): void => {
      if (agrees(text)) read++
    }
    void fc.assert(fc.property(handEdited, check), { numRuns: RUNS })
    expect(read).toBeGreaterThan(RUNS / 3)
  })

  it('is refused or read like the parser does, after any typo', () => {
    void fc.assert(
      fc.property(withTypo, (text) => void agrees(text)),
      { numRuns: RUNS },
    )
  })
})
