import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { formatDuration, parseDuration } from './duration.ts'

describe(`durations (${promise('GW-8')})`, () => {
  it('are read with their unit', () => {
    const read = (text: string): number | undefined => parseDuration(text, 'ms')
    expect(['500ms', '30s', '1.5m', '2h', '1d', ' 3 s '].map(read)).toEqual([
      500, 30_000, 90_000, 7_200_000, 86_400_000, 3_000,
    ])
  })

  it('have the given unit if none is written', () => {
    expect(parseDuration(60, 's')).toBe(60_000)
    expect(parseDuration('60', 's')).toBe(60_000)
    expect(parseDuration(60, 'ms')).toBe(60)
    expect(parseDuration(0, 's')).toBe(0)
  })

  it('are invalid in any other form', () => {
    const wrong = ['', 's', '-1s', '1e3', '1 s 2', '1S', '0x10', '1,5s', '∞', '9'.repeat(400), null, true, [], {}]
    for (const value of [...wrong, Number.NaN, -1, Number.POSITIVE_INFINITY, Number.MAX_VALUE]) {
      expect(parseDuration(value, 's'), JSON.stringify(value)).toBeUndefined()
    }
  })

  it('are shown in the unit that reads best', () => {
    expect([0, 12.4, 350, 1_200, 240_000, 5_400_000].map(formatDuration)).toEqual([
      '0 ms',
      '12 ms',
      '350 ms',
      '1.2 s',
      '4 min',
      '1.5 h',
    ])
  })

  it('are never rounded up to one of the next unit', () => {
    expect([999.4, 999.6, 59_949, 59_999, 3_569_999, 3_599_999].map(formatDuration)).toEqual([
      '999 ms',
      '1.0 s',
      '59.9 s',
      '1 min',
      '59 min',
      '1.0 h',
    ])
  })

  it('are shown with an error of at most 5 %, except whole minutes and milliseconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 100_000_000 }), (ms) => {
        const read = parseDuration(formatDuration(ms).replace(' min', 'm').replace(' ', ''), 'ms') ?? 0
        expect(Math.abs(read - ms)).toBeLessThanOrEqual(Math.max(ms / 20, 30_000))
      }),
    )
  })
})
