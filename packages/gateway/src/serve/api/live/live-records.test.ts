import { expect, it } from 'vitest'
import { LiveRecords } from './live-records.ts'

const lines = (...records: readonly object[]): Buffer =>
  Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''))

const started = (seq: number) => ({ seq, time: 'now', type: 'TOOL_CALL_STARTED', call_id: `c${seq}` })
const completed = (seq: number, call: number) => ({
  ...{ seq, time: 'now', type: 'TOOL_CALL_COMPLETED', call_id: `c${call}` },
})
/** The records of a tick, as a client gets them. */
const takeFrom = (live: LiveRecords) => {
  const { shown, ...rest } = live.take() ?? { shown: [] }
  return { records: shown.map(({ line }) => JSON.parse(line)), ...rest }
}
const numbers = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index)

it('passes everything if there is little', () => {
  const live = new LiveRecords()
  live.add(lines(started(1), completed(2, 1)))
  live.add(lines({ seq: 3, time: 'now', type: 'MODE_CHANGED' }))
  expect(takeFrom(live)).toEqual({
    records: [started(1), completed(2, 1), { seq: 3, time: 'now', type: 'MODE_CHANGED' }],
    omitted: {},
    ...{ first: 1, last: 3 },
  })
  expect(live.take()).toBeUndefined()
})

it('shows the end of each call whose start it showed, counts the rest, and drops nothing else', () => {
  const live = new LiveRecords()
  live.add(lines(...numbers(1, 500).map(started)))
  const first = takeFrom(live)
  const shown = first.records.map(({ seq }) => seq)
  expect(shown.length).toBeLessThan(50)
  expect(first.omitted).toEqual({ TOOL_CALL_STARTED: 500 - shown.length })
  live.add(lines(...numbers(501, 500).map((seq) => completed(seq, 1_001 - seq))))
  live.add(lines({ seq: 1_001, time: 'now', type: 'APPROVAL_REQUESTED', call_id: 'c9999' }))
  const ends = takeFrom(live)
  const ended = ends.records.map((record) => Number(String(record.call_id).slice(1)))
  for (const call of shown) expect(ended).toContain(call)
  expect(ends.records.at(-1).type).toBe('APPROVAL_REQUESTED')
  expect(ends).toMatchObject({ first: 501, last: 1_001 })
})

it('leaves out a huge record', () => {
  const live = new LiveRecords()
  live.add(lines({ ...started(1), arguments: 'x'.repeat(100_000) }))
  expect(takeFrom(live)).toMatchObject({ records: [], omitted: { TOOL_CALL_STARTED: 1 } })
})

it('does not depend on the bytes of a write afterwards, and takes more than it expects', () => {
  const live = new LiveRecords()
  const wide = { time: 'now', type: 'CONFIG_REJECTED', message: 'ü'.repeat(10_000) }
  const written = numbers(1, 50).map((seq) => ({ seq, ...wide }))
  for (const record of written) {
    const bytes = lines(record)
    live.add(bytes)
    bytes.fill(0)
  }
  const whole = numbers(51, 50).map((seq) => ({ seq, ...wide }))
  live.add(lines(...whole))
  expect(takeFrom(live)).toEqual({ records: [...written, ...whole], omitted: {}, first: 1, last: 100 })
})
