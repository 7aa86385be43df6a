import type { Raise } from '../history.ts'
import type { Place } from './outside.ts'

/** A call that asks a server in a sandbox to send a line out. */
export interface Send {
  readonly session: string
  readonly server: string
  readonly id: string
  readonly place: Place
  readonly sentAt: bigint
  answeredAt?: bigint
  answer?: string
}

/** A line that has arrived outside. */
export interface Arrival {
  readonly session: string
  readonly server: string
  readonly place: Place
  /** Of the call that it belongs to, or why it was sent. */
  readonly id: string
  /** When it was written, by the clock that all processes share. */
  readonly stamp: bigint
  readonly time: bigint
}

/** How many calls a process remembers at the end, and how many it has had. */
export interface Remembered {
  readonly session: string
  readonly server: string
  readonly expected: number
  readonly answer: string
}

/** What clients and the listener outside saw; none of it comes from the gateway's own records. */
export class EscapeHistory {
  readonly sends: Send[] = []
  readonly raises: Raise[] = []
  readonly arrivals: Arrival[] = []
  readonly remembered: Remembered[] = []
  /** Other calls that must have worked, and did not. */
  readonly failures: string[] = []

  now(): bigint {
    return process.hrtime.bigint()
  }
}

/** How often what happened. */
export function countEscapes({ sends, raises, arrivals }: EscapeHistory): Readonly<Record<string, number>> {
  const late = raises.flatMap(({ session, acknowledgedAt: at }) =>
    at === undefined ? [] : [arrivals.filter((arrival) => arrival.session === session && arrival.stamp > at).length],
  )
  return {
    reached: sends.filter(({ answer }) => answer?.includes('reached')).length,
    refused: sends.filter(({ answer }) => answer?.includes('refused')).length,
    raises: late.length,
    arrivals: arrivals.length,
    'arrivals of the wide server': arrivals.filter(({ server }) => server === 'wide').length,
    'allowed arrivals after a raise': late.reduce((sum, count) => sum + count, 0),
  }
}
