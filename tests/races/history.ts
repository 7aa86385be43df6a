import type { Sensitivity } from '@sallyport/core'

/** `refused`: the answer says that nothing was sent. `unknown`: it does not say. */
export type Outcome = 'arrived' | 'refused' | 'unknown'

/** One try of a session to send a mark to somebody outside. */
export interface Attempt {
  readonly session: string
  readonly mark: string
  /** How: the tool, or the method. */
  readonly way: string
  /** `pair`: a server with an isolated instance, which may get the calls of private sessions. */
  readonly to: 'sink' | 'pair'
  readonly sentAt: bigint
  answeredAt?: bigint
  outcome?: Outcome
  answer?: string
}

/** Something that raises the label of a session to a private level. */
export interface Raise {
  readonly session: string
  readonly by: string
  readonly level: 'CONFIDENTIAL' | 'SECRET'
  readonly begunAt: bigint
  /** Its client, or the operator, has the answer. */
  acknowledgedAt?: bigint
  /** What was written to any server before the answer has certainly been read by it. */
  settledAt?: bigint
}

/** A person approved that exactly this mark may leave a private session, once. */
export interface Approval {
  readonly mark: string
}

export interface Arrival {
  readonly mark: string
  readonly at: string
  readonly time: bigint
}

/** A step that must work whatever the label is: reading, and lists. */
export interface Reading {
  readonly session: string
  readonly what: string
  readonly begunAt: bigint
  readonly answeredAt: bigint
  readonly hasWorked: boolean
  readonly answer: string
}

/** The label of a session, as an operator sees it. */
export interface SeenLabel {
  readonly session: string
  readonly sensitivity: Sensitivity | undefined
  readonly readAt: bigint
}

/** A time in which a process was killed and its answers may be missing. */
export interface Disturbance {
  readonly from: bigint
  readonly until: bigint
}

/** What clients, people and servers saw; none of it comes from the gateway's own records. */
export class History {
  readonly attempts: Attempt[] = []
  readonly raises: Raise[] = []
  readonly approvals: Approval[] = []
  readonly arrivals: Arrival[] = []
  readonly readings: Reading[] = []
  readonly labels: SeenLabel[] = []
  readonly disturbances: Disturbance[] = []

  now(): bigint {
    return process.hrtime.bigint()
  }

  arrive(mark: string, at: string, time: bigint = this.now()): void {
    this.arrivals.push({ mark, at, time })
  }
}

/** How often what happened, over all histories. */
export class Counts {
  readonly #counts = new Map<string, number>()

  add({ attempts, raises, approvals, readings, disturbances }: History): void {
    for (const { outcome } of attempts) this.#count(outcome ?? 'open')
    for (const { acknowledgedAt } of raises)
      this.#count(acknowledgedAt === undefined ? 'raise without answer' : 'raise')
    for (const _ of approvals) this.#count('approved')
    for (const _ of readings) this.#count('read')
    for (const _ of disturbances) this.#count('killed')
  }

  of(what: string): number {
    return this.#counts.get(what) ?? 0
  }

  toString(): string {
    return JSON.stringify(Object.fromEntries(this.#counts))
  }

  #count(what: string): void {
    this.#counts.set(what, this.of(what) + 1)
  }
}
