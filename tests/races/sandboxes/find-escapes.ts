import type { Raise } from '../history.ts'
import type { Arrival, EscapeHistory, Remembered, Send } from './escape-history.ts'
import type { Place } from './outside.ts'

/** What must not have happened, in words. Empty if all went well. */
export function findEscapes(history: EscapeHistory): readonly string[] {
  return [
    ...history.arrivals.flatMap((arrival) => findLeak(arrival, history)),
    ...history.sends.flatMap((send) => findMiscount(send, history)),
    ...history.sends.flatMap((send) => findUnjustRefusal(send, history)),
    ...history.remembered.flatMap(findLostState),
    ...history.failures,
  ]
}

/** How a call fails whose process could not be narrowed. */
const ENDED = 'UPSTREAM_NARROWED'

const forbids = ({ level }: Raise, place: Place): boolean => level === 'SECRET' || place === 'open'

const raisesOf = ({ raises }: EscapeHistory, session: string, place: Place): readonly Raise[] =>
  raises.filter((raise) => raise.session === session && forbids(raise, place))

/** Nothing that was written after a client had the answer arrives, and nothing at all after that is settled. */
function findLeak(arrival: Arrival, history: EscapeHistory): readonly string[] {
  const { session, server, place, id, stamp, time } = arrival
  const what = `${id} of ${server} (${session}) arrived at the ${place} place`
  return raisesOf(history, session, place).flatMap(({ by, level, acknowledgedAt, settledAt }) => {
    if (acknowledgedAt === undefined) return []
    if (stamp > acknowledgedAt)
      return [`${what}, written ${inMs(stamp - acknowledgedAt)} ms after ${level} was acknowledged (${by})`]
    if (settledAt !== undefined && time > settledAt)
      return [`${what} ${inMs(time - acknowledgedAt)} ms after ${level} was acknowledged (${by}), written before`]
    return []
  })
}

/** What was answered as reached has arrived once; what was refused has not. */
function findMiscount({ session, server, id, answer = '' }: Send, { arrivals }: EscapeHistory): readonly string[] {
  const count = arrivals.filter((arrival) => arrival.id === id).length
  const isReached = answer.includes(`reached ${id}`)
  // A line may arrive although its answer is cut, or its process has to end before it answers.
  const isCut = answer.includes('(cut)') || answer.includes(ENDED)
  const isRight = isReached ? count === 1 : count === 0 || (count === 1 && isCut)
  return isRight ? [] : [`${id} of ${server} (${session}) arrived ${count} times: ${answer}`]
}

/** Before a label rises, and where it allows a place, everything arrives. */
function findUnjustRefusal(send: Send, history: EscapeHistory): readonly string[] {
  const { session, server, id, place, answeredAt, answer = '' } = send
  if (answer.includes(`reached ${id}`)) return []
  const isEnded = answer.includes(ENDED)
  const raises = isEnded
    ? history.raises.filter((raise) => raise.session === session)
    : raisesOf(history, session, place)
  const mayRefuse = raises.some(({ begunAt }) => begunAt <= (answeredAt ?? begunAt))
  return mayRefuse ? [] : [`${id} of ${server} (${session}) did not reach the ${place} place: ${answer}`]
}

const findLostState = ({ session, server, expected, answer }: Remembered): readonly string[] =>
  answer.includes(`"count ${expected}"`) ? [] : [`${server} (${session}) has had ${expected} calls, but: ${answer}`]

const inMs = (nanoseconds: bigint): string => (Number(nanoseconds) / 1e6).toFixed(3)
