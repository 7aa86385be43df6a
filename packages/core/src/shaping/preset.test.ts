import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { SallyportError } from '../errors.ts'
import type { JsonObject } from '../json/json-value.ts'
import { findPreset, PRESETS, readPresets } from './preset.ts'

function textOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (error instanceof SallyportError) return error.text
    throw error
  }
  return 'nothing was thrown'
}

describe(`${promise('ISO-13')}: presets`, () => {
  it('have the documented numbers', () => {
    const ends = { rows: { head: 20, tail: 10 }, lines: { head: 50, tail: 20 }, items: { head: 10, tail: 5 }, keys: 20 }
    expect(PRESETS.default).toMatchObject({ threshold: 5_000, previewTokens: 500, ...ends })
    expect(PRESETS.sql_query).toMatchObject({ threshold: 2_000, previewTokens: 1_000, rows: { head: 30, tail: 10 } })
    expect(PRESETS.log_search).toMatchObject({ ...ends, threshold: 10_000, previewTokens: 300 })
  })

  it('can be changed and added; only the differences are written', () => {
    const presets = readPresets({
      log_search: { preview_tokens: 700 },
      mine: { threshold: 900, rows: { head: 1, tail: 0 } },
    })
    expect(presets.log_search).toEqual({ ...PRESETS.log_search, previewTokens: 700 })
    expect(findPreset('mine', presets)).toEqual({ ...PRESETS.default, threshold: 900, rows: { head: 1, tail: 0 } })
    expect(findPreset('sql_query', presets)).toBe(PRESETS.sql_query)
  })

  it('are found by name, and an unknown name is refused', () => {
    expect(textOf(() => findPreset('sqlquery'))).toBe(
      'There is no preset "sqlquery" for results. Did you mean "sql_query"? There are: default, sql_query, log_search.',
    )
    expect(textOf(() => findPreset('constructor'))).toContain('There is no preset "constructor"')
  })

  it.each<[written: JsonObject, message: string]>([
    [{ mine: { treshold: 900 } }, 'The preset "mine" has an unknown key "treshold". Known: threshold'],
    [{ mine: { treshold: 900 } }, 'Did you mean "threshold"?'],
    [{ mine: { threshold: '900' } }, 'Expected a whole number from 400 to 1000000.'],
    [{ mine: { threshold: 10 } }, 'has threshold: "10"'],
    [{ mine: { rows: 20 } }, 'Expected { head: 20, tail: 10 }.'],
    [{ mine: { rows: { head: 1 } } }, 'has rows.tail: undefined'],
    [{ mine: { rows: { head: 1, tail: 1, middle: 1 } } }, 'has rows:'],
    [{ mine: 5 }, 'The preset "mine" is "5".'],
    [{ mine: { keys: 1.5 } }, 'has keys: "1.5"'],
  ])('are refused with their name if they are invalid: %j', (written, message) => {
    expect(textOf(() => readPresets(written))).toContain(message)
  })
})
