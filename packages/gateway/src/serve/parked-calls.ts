import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { canonicalJson, type JsonObject, ownerOf, SallyportError } from '@sallyport/core'
import type { Answer } from '../pipeline/pipeline.ts'
import type { ClientRequest } from './client-request.ts'
import { ParkedCall, type Turn } from './parked-call.ts'

/** What a client is told: that its call is over, or what the server needs and under which state it goes on. */
export type Outcome =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'input'; readonly result: JsonObject }

/** So long a call waits for a client that has to find a person first. */
const PATIENCE = 600_000
/** So many bytes of answers are kept for clients that are away, all together. */
const MOST_KEPT = 64_000_000
/** What a call weighs besides its answer. */
const CALL_WEIGHT = 1_000

/** Tells our states from those of servers. Whoever copies it gains nothing: the seal counts. */
const STATE_MARK = 'sallyport.'

export const isParkedState = (state: unknown): boolean => typeof state === 'string' && state.startsWith(STATE_MARK)

interface Parked {
  readonly id: string
  readonly call: ParkedCall
  /** How often the client was told what is needed. */
  rounds: number
  timer: NodeJS.Timeout | undefined
  /** What its answer weighs, once it is kept here. */
  kept: number
}

/** Calls whose server waits for an answer of the client, between one request of the client and the next. */
export class ParkedCalls {
  readonly #parked = new Map<string, Parked>()
  /** Only we can make a state that we accept, and only until we end. */
  readonly #key = randomBytes(32)
  readonly #patience: number
  #kept = 0

  /** `patience`: so many milliseconds a call waits between two requests of its client. */
  constructor(patience = PATIENCE) {
    this.#patience = patience
  }

  /** Starts a call that may have to wait for its client. */
  async begin(request: ClientRequest, run: (call: ParkedCall) => Promise<Answer>): Promise<Outcome> {
    const call = new ParkedCall(request)
    const id = randomBytes(16).toString('base64url')
    const parked: Parked = { id, call, rounds: 0, timer: undefined, kept: 0 }
    const turn = call.attend(request)
    void run(call).then(
      (answer) => call.end({ kind: 'answer', answer: call.isAttended ? answer : this.#keep(parked, answer) }),
      (error: unknown) => call.end({ kind: 'broken', error }),
    )
    return this.#settle(request, parked, await turn)
  }

  /** Goes on with a call that waits for what this request brings. */
  async resume(request: ClientRequest): Promise<Outcome> {
    const parked = this.#parked.get(this.#openState(request))
    if (!parked) throw invalidState('This call no longer waits: it is over, or it waited for too long.')
    clearTimeout(parked.timer)
    return this.#settle(request, parked, await parked.call.attend(request))
  }

  #settle(request: ClientRequest, parked: Parked, turn: Turn): Outcome {
    if (turn.kind === 'superseded')
      throw invalidState('The same request was made again meanwhile.', 'Its answer goes to the later one.')
    const { id } = parked
    this.#remove(parked)
    if (turn.kind === 'broken') throw turn.error
    if (turn.kind === 'answer') return turn
    this.#parked.set(id, parked)
    parked.timer = setTimeout(() => this.#giveUp(parked), this.#patience).unref()
    const { inputRequests } = turn
    // Each round has a state of its own; an earlier one still leads here, for a client that did not get the answer.
    const round = `${id}.${++parked.rounds}`
    const requestState = `${STATE_MARK}${round}.${this.#seal(round, request)}`
    return { kind: 'input', result: { resultType: 'input_required', inputRequests, requestState } }
  }

  #giveUp(parked: Parked): void {
    this.#remove(parked)
    parked.call.cancellation.cancel('the client did not come back with an answer')
  }

  /** Its client is away and may never come back; a server that did not wait for it must not fill our memory. */
  #keep(parked: Parked, answer: Answer): Answer {
    if (!this.#parked.has(parked.id)) return answer
    const bytes = CALL_WEIGHT + (answer.kind === 'frame' ? answer.frame.envelope.bytes : 0)
    const isKept = this.#kept + bytes <= MOST_KEPT
    parked.kept = isKept ? bytes : 0
    this.#kept += parked.kept
    return isKept ? answer : { kind: 'failure', error: lostAnswer() }
  }

  #remove(parked: Parked): void {
    this.#parked.delete(parked.id)
    this.#kept -= parked.kept
    parked.kept = 0
  }

  #openState(request: ClientRequest): string {
    const [id = '', round = '', seal = ''] = String(request.params.requestState).slice(STATE_MARK.length).split('.')
    const expected = Buffer.from(this.#seal(`${id}.${round}`, request))
    const given = Buffer.from(seal)
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
      throw invalidState('The requestState is not one that belongs to this call.')
    return id
  }

  /** Binds a state to its caller and to what was asked for: it is good for nothing else. */
  #seal(round: string, { principal, method, params }: ClientRequest): string {
    const subject = [round, ownerOf(principal), principal.agent, principal.profile, method]
    const { name, uri, arguments: args = {} } = params
    // The order of members means nothing, and a client may have changed it.
    const asked = canonicalJson([...subject, name ?? uri ?? '', args])
    return createHmac('sha256', this.#key).update(asked).digest('base64url')
  }
}

const lostAnswer = (): SallyportError =>
  new SallyportError('RESULT_WITHHELD', 'The call has ended, but its answer was too large to be kept.', {
    hint: 'It ended before the client came back. Look at what it did before you make it again.',
  })

const invalidState = (message: string, hint = 'Make the call again without a requestState.'): SallyportError =>
  new SallyportError('INVALID_PARAMS', message, { hint })
