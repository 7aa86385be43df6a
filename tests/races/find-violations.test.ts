import { expect, it } from 'vitest'
import { findViolations } from './find-violations.ts'
import { type Attempt, History, type Raise } from './history.ts'

const at = (milliseconds: number): bigint => BigInt(milliseconds) * 1_000_000n

const attempt = (mark: string, sent: number, more: Partial<Attempt> = {}): Attempt => ({
  ...{ session: 'ada/1', mark, way: 'send', to: 'sink', sentAt: at(sent), answeredAt: at(sent + 1) },
  ...{ outcome: 'arrived', answer: 'an answer' },
  ...more,
})
const RAISED: Raise = {
  ...{ session: 'ada/1', by: 'an operator', level: 'SECRET' },
  ...{ begunAt: at(9), acknowledgedAt: at(10), settledAt: at(12) },
}

/** A session that is private from 10 ms on, and what happened to one mark. */
function check(
  attempts: readonly Attempt[],
  arrivals: readonly (readonly [time: number, at: string])[],
  { approvals = 0, raises = [RAISED] }: { approvals?: number; raises?: readonly Raise[] } = {},
): readonly string[] {
  const history = new History()
  history.attempts.push(...attempts)
  history.raises.push(...raises)
  for (const [time, place] of arrivals) history.arrive('m', place, at(time))
  for (let count = 0; count < approvals; count++) history.approvals.push({ mark: 'm' })
  return findViolations(history).map((text) => text.split('\n')[0] ?? '')
}

const REFUSED = { outcome: 'refused' } as const

it.each([
  ['a call before', [attempt('m', 1)], [[2, 'sink']], {}],
  ['a call before that is read late', [attempt('m', 8, { answeredAt: at(12) })], [[11, 'sink']], {}],
  ['a refused call', [attempt('m', 11, REFUSED)], [], {}],
  ['an approved call', [attempt('m', 11, REFUSED), attempt('m', 20)], [[20, 'sink']], { approvals: 1 }],
  ['a call to the isolated instance', [attempt('m', 20, { to: 'pair' })], [[20, 'isolated']], {}],
  [
    'a subscription that is repeated',
    [attempt('m', 1, { way: 'subscribe' })],
    [
      [2, 'sink'],
      [19, 'sink'],
    ],
    {},
  ],
  ['a call of a session that is not private', [attempt('m', 20, { session: 'bob/1' })], [[20, 'sink']], {}],
] as const)('finds nothing wrong with %s', (_, attempts, arrivals, more) => {
  expect(check(attempts, arrivals, more)).toEqual([])
})

it.each([
  [
    'a subscription after the label',
    [attempt('m', 11, { way: 'subscribe' })],
    [[12, 'sink']],
    {},
    'arrived 1 times outside',
  ],
  ['a call after the label', [attempt('m', 11)], [[11, 'sink']], {}, 'arrived 1 times outside'],
  [
    'one that waited',
    [attempt('m', 1, { answeredAt: at(20) })],
    [[19, 'sink']],
    {},
    'after the label was acknowledged',
  ],
  [
    'an approval that was used twice',
    [attempt('m', 11), attempt('m', 13)],
    [
      [12, 'sink'],
      [14, 'sink'],
    ],
    { approvals: 1 },
    'arrived 2 times outside',
  ],
  [
    'a call to the normal instance',
    [attempt('m', 11, { to: 'pair' })],
    [[11, 'normal']],
    {},
    'arrived 1 times outside',
  ],
  ['a refused call that arrived', [attempt('m', 1, REFUSED)], [[2, 'sink']], {}, 'arrived 1 times, but 0 calls'],
  ['a lost call', [attempt('m', 1)], [], {}, 'arrived 0 times, but 1 calls'],
  [
    'a call that arrived twice',
    [attempt('m', 1)],
    [
      [2, 'sink'],
      [3, 'sink'],
    ],
    {},
    'arrived 2 times',
  ],
  ['a call that nobody sent', [], [[2, 'sink']], {}, 'nobody sent it'],
  ['a refusal without a label', [attempt('m', 1, REFUSED)], [], { raises: [] }, 'was not answered, although'],
  ['a refusal before the label', [attempt('m', 1, REFUSED)], [], {}, 'was not answered, although'],
] as const)('reports %s', (_, attempts, arrivals, more, expected) => {
  expect(check(attempts, arrivals, more).join()).toContain(expected)
})

it('reports a reading that failed, unless something was killed meanwhile', () => {
  const history = new History()
  const reading = { session: 'ada/1', what: 'menu', hasWorked: false, answer: 'no' }
  history.readings.push({ ...reading, begunAt: at(1), answeredAt: at(2) })
  history.readings.push({ ...reading, begunAt: at(11), answeredAt: at(20) })
  history.disturbances.push({ from: at(10), until: at(12) })
  expect(findViolations(history)).toEqual(['ada/1 could not read menu: no'])
})
