import { expect, it } from 'vitest'
import type { Raise } from '../history.ts'
import { type Arrival, EscapeHistory, type Send } from './escape-history.ts'
import { findEscapes } from './find-escapes.ts'

const at = (milliseconds: number): bigint => BigInt(milliseconds) * 1_000_000n

const RAISED: Raise = {
  ...{ session: 'ada/1', by: 'an operator', level: 'CONFIDENTIAL' },
  ...{ begunAt: at(9), acknowledgedAt: at(10), settledAt: at(12) },
}
const SECRET: Raise = { ...RAISED, level: 'SECRET' }

const arrival = (stamp: number, more: Partial<Arrival> = {}): Arrival => ({
  ...{ session: 'ada/1', server: 'one', place: 'open', id: 'flood', stamp: at(stamp), time: at(stamp) },
  ...more,
})
const send = (sentAt: number, answer: string, more: Partial<Send> = {}): Send => ({
  ...{ session: 'ada/1', server: 'one', place: 'open', id: 'x', sentAt: at(sentAt), answeredAt: at(sentAt + 1) },
  ...{ answer: `${answer} x` },
  ...more,
})

interface Seen {
  readonly arrivals?: readonly Arrival[]
  readonly sends?: readonly Send[]
  readonly raises?: readonly Raise[]
}

function check({ arrivals = [], sends = [], raises = [RAISED] }: Seen): readonly string[] {
  const history = new EscapeHistory()
  history.arrivals.push(...arrivals)
  history.sends.push(...sends)
  history.raises.push(...raises)
  return findEscapes(history)
}

it.each<[string, Seen]>([
  ['a line before the label', { arrivals: [arrival(8)] }],
  ['a line before the label that is read late', { arrivals: [arrival(9, { time: at(11) })] }],
  ['a line to a listed place after it', { arrivals: [arrival(20, { place: 'listed' })] }],
  ['a line of another session', { arrivals: [arrival(20, { session: 'bob/1' })] }],
  ['a call that reached its place', { sends: [send(1, 'reached')], arrivals: [arrival(1, { id: 'x' })] }],
  ['a call that was refused after the label', { sends: [send(20, 'refused (403)')] }],
  ['a call that was cut by the label', { sends: [send(9, 'refused (cut)')], arrivals: [arrival(9, { id: 'x' })] }],
])('finds nothing wrong with %s', (_, seen) => {
  expect(check(seen)).toEqual([])
})

it.each<[string, Seen, string]>([
  ['a line after the label', { arrivals: [arrival(11)] }, 'written 1.000 ms after CONFIDENTIAL'],
  ['a line that waited', { arrivals: [arrival(8, { time: at(20) })] }, 'arrived at the open place 10.000 ms after'],
  [
    'a line to a listed place after SECRET',
    { arrivals: [arrival(11, { place: 'listed' })], raises: [SECRET] },
    'after SECRET was acknowledged',
  ],
  ['a refusal before the label', { sends: [send(1, 'refused (403)')] }, 'did not reach the open place'],
  [
    'a refusal of a listed place',
    { sends: [send(20, 'refused (403)', { place: 'listed' })] },
    'did not reach the listed place',
  ],
  [
    'a refused call that arrived',
    { sends: [send(9, 'refused (403)')], arrivals: [arrival(9, { id: 'x' })] },
    '1 times',
  ],
  ['a lost call', { sends: [send(1, 'reached')] }, 'arrived 0 times'],
])('reports %s', (_, seen, expected) => {
  expect(check(seen).join()).toContain(expected)
})

it('reports a process that has forgotten calls', () => {
  const history = new EscapeHistory()
  history.remembered.push({ session: 'ada/1', server: 'one', expected: 5, answer: '"text":"count 1"' })
  expect(findEscapes(history)).toEqual(['one (ada/1) has had 5 calls, but: "text":"count 1"'])
})
