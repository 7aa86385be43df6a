import { expect, it } from 'vitest'
import { buildBuckets, findStart, RANGES } from './buckets.ts'

const [TODAY, TWO_WEEKS] = RANGES
const NOW = new Date(2026, 2, 29, 15, 20)
const at = (day: number, hour: number) => ({
  time: new Date(2026, 2, day, hour).toISOString(),
  shaped: 100,
  isolated: 10,
  selected: 1,
  reached: 7,
})

it('a bar is a day of the reader, also where the clock changes, and days without calls have one', () => {
  const start = findStart(TWO_WEEKS, NOW)
  const buckets = buildBuckets([at(16, 0), at(28, 23), at(29, 0), at(29, 23)], TWO_WEEKS, start)
  expect(buckets.map(({ label }) => label)).toEqual(Array.from({ length: 14 }, (_, day) => `Mar ${16 + day}`))
  expect(buckets.map(({ shaped }) => shaped)).toEqual([100, ...Array(11).fill(0), 100, 200])
  expect(buckets.at(-1)).toMatchObject({ isolated: 20, selected: 2 })
})

it('a bar of today is an hour', () => {
  const buckets = buildBuckets([at(28, 23), at(29, 0), at(29, 15)], TODAY, findStart(TODAY, NOW))
  expect(buckets).toHaveLength(24)
  expect(buckets.flatMap(({ label, shaped }) => (shaped > 0 ? [label] : []))).toEqual(['00:00', '15:00'])
})
