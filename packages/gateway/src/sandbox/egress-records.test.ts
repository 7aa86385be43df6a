import type { SallyportEvent } from '@sallyport/core'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { EgressRecords } from './egress-records.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const refused = (host: string) => ({ host, port: 443, ok: false, reason: 'it is not on the allow list', at: 0 })

function create() {
  const events: SallyportEvent[] = []
  return { events, records: new EgressRecords({ server: 'files', record: (event) => events.push(event) }) }
}

it('records the first decision at once, and counts equal ones for a minute', () => {
  const { events, records } = create()
  for (let n = 0; n < 50_000; n++) records.add(refused('a.test'), [])
  records.add({ ...refused('a.test'), ok: true, reason: 'it is on the allow list', address: '192.0.2.1' }, [])
  const first = { type: 'EGRESS_DECIDED', server: 'files', host: 'a.test', port: 443, allowed: false }
  expect(events).toEqual([
    { ...first, reason: 'it is not on the allow list' },
    { ...first, allowed: true, reason: 'it is on the allow list', address: '192.0.2.1' },
  ])
  vi.advanceTimersByTime(60_000)
  expect(events.slice(2)).toEqual([{ ...first, reason: 'it is not on the allow list', count: 49_999 }])
  records.add(refused('a.test'), [])
  expect(events).toHaveLength(4)
})

it('counts hosts together of which there are too many', () => {
  const { events, records } = create()
  for (let n = 0; n < 10_000; n++) records.add(refused(`host-${n}.test`), [])
  expect(events).toHaveLength(50)
  records.flush()
  expect(events.slice(50)).toEqual([expect.objectContaining({ host: 'others', count: 9_950 })])
})

it('lets nothing be connected that cannot be recorded', () => {
  const records = new EgressRecords({
    server: 'files',
    record: () => {
      throw new Error('the disk is full')
    },
  })
  for (let n = 0; n < 2; n++) expect(() => records.add(refused('a.test'), [])).toThrow('the disk is full')
})

const call = (n: number) => ({ callId: `call-${n}`, traceId: `trace-${n}` })

it('names the call in flight, or the traces of all if there are several', () => {
  const { events, records } = create()
  records.add(refused('a.test'), [call(1)])
  records.add(refused('b.test'), [call(1), call(2)])
  records.add(refused('c.test'), [])
  expect(events[0]).toMatchObject({ call_id: 'call-1', trace_id: 'trace-1' })
  expect(events[1]).toMatchObject({ trace_ids: ['trace-1', 'trace-2'] })
  expect(events[1]).not.toHaveProperty('trace_id')
  expect(Object.keys(events[2] ?? {})).not.toEqual(expect.arrayContaining([expect.stringContaining('trace')]))
})

it('names the calls of decisions that are only counted, in records of at most 100', () => {
  const { events, records } = create()
  for (let n = 0; n < 150; n++) records.add(refused('a.test'), [call(n)])
  records.flush()
  const counted = events.slice(1) as readonly { readonly count: number; readonly trace_ids: readonly string[] }[]
  expect(counted.map(({ count }) => count)).toEqual([100, 49])
  expect(counted.map((event) => event.trace_ids.length)).toEqual([100, 49])
  expect(counted.flatMap((event) => event.trace_ids).at(-1)).toBe('trace-149')
})
