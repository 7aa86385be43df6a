import { describe, expect, it } from 'vitest'
import { parseTimestamp } from './timestamp.ts'

const NOW = new Date('2026-05-10T12:00:00.000Z')

describe('a time on the command line', () => {
  it.each([
    ['30s', '2026-05-10T11:59:30.000Z'],
    ['15m', '2026-05-10T11:45:00.000Z'],
    ['1h', '2026-05-10T11:00:00.000Z'],
    ['7d', '2026-05-03T12:00:00.000Z'],
    ['1.5h', '2026-05-10T10:30:00.000Z'],
    ['2026-05-01T10:00:00Z', '2026-05-01T10:00:00.000Z'],
    ['2026-05-01T10:00:00.250+02:00', '2026-05-01T08:00:00.250Z'],
  ])('reads %s', (text, expected) => {
    expect(parseTimestamp(text, NOW).toISOString()).toBe(expected)
  })

  it('treats a date without a time as the start of that day in local time, not in UTC', () => {
    expect(parseTimestamp('2026-05-01', NOW)).toEqual(new Date(2026, 4, 1))
  })

  it.each([
    '',
    'yesterday',
    '1',
    '1715000000',
    '2026',
    '2026-13-01',
    '-1h',
    '1h ago',
    '5 May 2026',
    'NaN',
    '99999999999d',
    '9e99d',
  ])('refuses %j with examples of valid times', (text) => {
    expect(() => parseTimestamp(text, NOW)).toThrow(
      expect.objectContaining({ code: 'USAGE', hint: expect.stringContaining('1h') }),
    )
  })
})
