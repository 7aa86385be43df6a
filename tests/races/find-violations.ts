import { isAtLeast } from '@sallyport/core'
import type { Arrival, Attempt, Disturbance, History, Raise } from './history.ts'

/** The instance that private sessions may use. */
const ISOLATED = 'isolated'

/** What must not have happened, in words. Empty if all went well. */
export function findViolations(history: History): readonly string[] {
  const marks = groupBy(history.attempts, ({ mark }) => mark)
  const arrivals = groupBy(history.arrivals, ({ mark }) => mark)
  const raises = groupBy(history.raises, ({ session }) => session)
  const approvals = groupBy(history.approvals, ({ mark }) => mark)
  const unsent = history.arrivals.filter(({ mark }) => !marks.has(mark))
  return [
    ...unsent.map(({ mark, at }) => `${mark} arrived at ${at}, and nobody sent it`),
    ...[...marks].flatMap(([mark, attempts]) => {
      const [first] = attempts
      const given = {
        attempts,
        arrived: arrivals.get(mark) ?? [],
        raises: raises.get(first?.session ?? '') ?? [],
        approvals: approvals.get(mark)?.length ?? 0,
      }
      return [...findLeaks(given), ...findMiscounts(given), ...findUnjustRefusals(given, history.disturbances)].map(
        (problem) => `${mark} (${first?.way} of ${first?.session}): ${problem}\n${formatEvents(given)}`,
      )
    }),
    ...findLostReadings(history),
    ...findLowered(history),
  ]
}

function groupBy<Value>(values: readonly Value[], keyOf: (value: Value) => string): ReadonlyMap<string, Value[]> {
  const groups = new Map<string, Value[]>()
  for (const value of values) {
    const group = groups.get(keyOf(value))
    if (group) group.push(value)
    else groups.set(keyOf(value), [value])
  }
  return groups
}

interface Mark {
  readonly attempts: readonly Attempt[]
  readonly arrived: readonly Arrival[]
  /** Of its session. */
  readonly raises: readonly Raise[]
  readonly approvals: number
}

const earliest = (times: readonly (bigint | undefined)[]): bigint | undefined =>
  times.reduce<bigint | undefined>(
    (found, time) => (time !== undefined && (found === undefined || time < found) ? time : found),
    undefined,
  )

/** Nothing leaves after the label that forbids it was acknowledged, except what a person approved, once. */
function findLeaks({ attempts, arrived, raises, approvals }: Mark): readonly string[] {
  const acknowledged = earliest(raises.map(({ acknowledgedAt }) => acknowledgedAt))
  if (acknowledged === undefined) return []
  const all = arrived.filter(({ at }) => at !== ISOLATED)
  // A subscription is repeated when its server is started again: that tells it nothing new.
  const outside = attempts.some(({ way }) => way === 'subscribe') ? all.slice(0, 1) : all
  const before = attempts.filter(({ sentAt }) => sentAt < acknowledged).length
  const problems: string[] = []
  if (outside.length > before + approvals)
    problems.push(
      `arrived ${outside.length} times outside; it was sent ${before} times before the label was acknowledged, and approved ${approvals} times`,
    )
  const settled = earliest(raises.map(({ settledAt }) => settledAt))
  const late = outside.filter(({ time }) => settled !== undefined && time > settled)
  if (late.length > approvals)
    problems.push(`arrived ${late.length} times after the label was acknowledged, and was approved ${approvals} times`)
  return problems
}

/** Each call that was answered has arrived once; one that was refused has not. */
function findMiscounts({ attempts, arrived }: Mark): readonly string[] {
  const answered = attempts.filter(({ outcome }) => outcome === 'arrived').length
  const open = attempts.filter(({ outcome }) => outcome !== 'arrived' && outcome !== 'refused').length
  // A subscription is sent again with each connection.
  const max = attempts.some(({ way }) => way === 'subscribe') && answered + open > 0 ? Infinity : answered + open
  if (arrived.length >= answered && arrived.length <= max) return []
  const answers = attempts.map(({ answer }) => answer)
  return [`arrived ${arrived.length} times, but ${answered} calls were answered, ${open} are uncertain: ${answers}`]
}

/** A session that is not private yet gets an answer to everything, unless a process was killed meanwhile. */
function findUnjustRefusals({ attempts, raises }: Mark, disturbances: readonly Disturbance[]): readonly string[] {
  const begun = earliest(raises.map(({ begunAt }) => begunAt))
  return attempts
    .filter(({ way, outcome }) => way !== 'ask' && outcome !== 'arrived')
    .filter(({ answeredAt }) => begun === undefined || (answeredAt !== undefined && answeredAt < begun))
    .filter(({ sentAt, answeredAt }) => !isDisturbed(sentAt, answeredAt, disturbances))
    .map(({ answer }) => `was not answered, although its session was not private: ${answer}`)
}

const findLostReadings = ({ readings, disturbances }: History): readonly string[] =>
  readings
    .filter(({ hasWorked, begunAt, answeredAt }) => !hasWorked && !isDisturbed(begunAt, answeredAt, disturbances))
    .map(({ session, what, answer }) => `${session} could not read ${what}: ${answer}`)

/** A label is at least what was acknowledged, whatever was killed since. */
const findLowered = ({ labels, raises }: History): readonly string[] =>
  labels.flatMap(({ session, sensitivity = 'PUBLIC', readAt }) =>
    raises
      .filter((raise) => raise.session === session && (raise.acknowledgedAt ?? readAt) < readAt)
      .filter(({ level }) => !isAtLeast(sensitivity, level))
      .map(({ by, level }) => `${session} is ${sensitivity}, although ${level} was acknowledged (${by})`),
  )

const isDisturbed = (from: bigint, until: bigint | undefined, disturbances: readonly Disturbance[]): boolean =>
  disturbances.some((one) => from <= one.until && (until === undefined || until >= one.from))

/** What happened, in order, for whoever has to find out why. */
function formatEvents({ attempts, arrived, raises, approvals }: Mark): string {
  const events = [
    ...attempts.flatMap(({ sentAt, answeredAt, outcome, answer }) => [
      { time: sentAt, what: 'sent' },
      { time: answeredAt, what: `answered: ${outcome}: ${answer}` },
    ]),
    ...arrived.map(({ time, at }) => ({ time, what: `arrived at ${at}` })),
    ...raises.flatMap(({ by, begunAt, acknowledgedAt, settledAt }) => [
      { time: begunAt, what: `raise begins (${by})` },
      { time: acknowledgedAt, what: `raise is acknowledged (${by})` },
      { time: settledAt, what: `raise is settled (${by})` },
    ]),
  ].filter((event): event is { time: bigint; what: string } => event.time !== undefined)
  const [first] = events.sort((one, other) => Number(one.time - other.time))
  const lines = events.map(({ time, what }) => `  ${(Number(time - (first?.time ?? 0n)) / 1e6).toFixed(3)} ms  ${what}`)
  return [...lines, `  approved ${approvals} times`].join('\n')
}
