import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { canonicalJson, type JsonObject, SallyportError, toOwnerKey } from '@sallyport/core'
import type { Answer } from '../../pipeline/pipeline.ts'
import type { ClientRequest } from '../rpc/client-request.ts'
import { ParkedCall, type RoundOutcome } from './parked-call.ts'

/** What a client is told: that its call is over, or what the server needs and under which state it goes on. */
export type ParkedCallOutcome =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'input'; readonly result: JsonObject }

/** So long a call waits for a client that has to find a person first. */
const CLIENT_TIMEOUT_MS = 600_000
/** So many bytes of answers are kept for clients that are away, all together. */
const MAX_RETAINED_BYTES = 64_000_000
/** What a call weighs besides its answer. */
const CALL_OVERHEAD_BYTES = 1_000

/** Tells our states from those of servers. Whoever copies it gains nothing: the seal counts. */
const STATE_PREFIX = 'sallyport.'

export const isParkedState = (state: unknown): boolean => typeof state === 'string' && state.startsWith(STATE_PREFIX)

interface ParkedEntry {
  readonly id: string
  readonly call: ParkedCall
  /** How often the client was told what is needed. */
  rounds: number
  timer: NodeJS.Timeout | undefined
  /** What its answer weighs, once it is kept here. */
  retainedBytes: number
}

/** Calls whose server waits for an answer of the client, between one request of the client and the next. */
export class ParkedCalls {
  readonly #parked = new Map<string, ParkedEntry>()
  /** Only we can make a state that we accept, and only until we end. */
  readonly #key = randomBytes(32)
  readonly #timeoutMs: number
  #retainedBytes = 0

  /** `patience`: so many milliseconds a call waits between two requests of its client. */
  constructor(patience = CLIENT_TIMEOUT_MS) {
    this.#timeoutMs = patience
  }

  /** Starts a call that may have to wait for its client. */
  async begin(request: ClientRequest, run: (call: ParkedCall) => Promise<Answer>): Promise<ParkedCallOutcome> {
    const call = new ParkedCall(request)
    const id = randomBytes(16).toString('base64url')
    const parked: ParkedEntry = { id, call, rounds: 0, timer: undefined, retainedBytes: 0 }
    const turn = call.nextRound(request)
    void run(call).then(
      (answer) => call.end({ kind: 'answer', answer: call.hasWaitingRequest ? answer : this.#retain(parked, answer) }),
      (error: unknown) => call.end({ kind: 'broken', error }),
    )
    return this.#finishRound(request, parked, await turn)
  }

  /** Goes on with a call that waits for what this request brings. */
  async resume(request: ClientRequest): Promise<ParkedCallOutcome> {
    const parked = this.#parked.get(this.#verifyState(request))
    if (!parked) throw invalidState('This call no longer waits: it is over, or it waited for too long.')
    clearTimeout(parked.timer)
    return this.#finishRound(request, parked, await parked.call.nextRound(request))
  }

  #finishRound(request: ClientRequest, parked: ParkedEntry, turn: RoundOutcome): ParkedCallOutcome {
    if (turn.kind === 'superseded')
      throw invalidState('The same request was made again meanwhile.', 'Its answer goes to the later one.')
    const { id } = parked
    this.#remove(parked)
    if (turn.kind === 'broken') throw turn.error
    if (turn.kind === 'answer') return turn
    this.#parked.set(id, parked)
    parked.timer = setTimeout(() => this.#giveUp(parked), this.#timeoutMs).unref()
    const { inputRequests } = turn
    // Each round has a state of its own; an earlier one still leads here, for a client that did not get the answer.
    const round = `${id}.${++parked.rounds}`
    const requestState = `${STATE_PREFIX}${round}.${this.#sign(round, request)}`
    return { kind: 'input', result: { resultType: 'input_required', inputRequests, requestState } }
  }

  #giveUp(parked: ParkedEntry): void {
    this.#remove(parked)
    parked.call.cancellation.cancel('the client did not come back with an answer')
  }

  /** Its client is away and may never come back; a server that did not wait for it must not fill our memory. */
  #retain(parked: ParkedEntry, answer: Answer): Answer {
    if (!this.#parked.has(parked.id)) return answer
    const bytes = CALL_OVERHEAD_BYTES + (answer.kind === 'frame' ? answer.frame.envelope.bytes : 0)
    const isKept = this.#retainedBytes + bytes <= MAX_RETAINED_BYTES
    parked.retainedBytes = isKept ? bytes : 0
    this.#retainedBytes += parked.retainedBytes
    return isKept ? answer : { kind: 'failure', error: lostAnswer() }
  }

  #remove(parked: ParkedEntry): void {
    this.#parked.delete(parked.id)
    this.#retainedBytes -= parked.retainedBytes
    parked.retainedBytes = 0
  }

  #verifyState(request: ClientRequest): string {
    const [id = '', round = '', seal = ''] = String(request.params.requestState).slice(STATE_PREFIX.length).split('.')
    const expected = Buffer.from(this.#sign(`${id}.${round}`, request))
    const given = Buffer.from(seal)
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
      throw invalidState('The requestState is not one that belongs to this call.')
    return id
  }

  /** Binds a state to its caller and to what was asked for: it is good for nothing else. */
  #sign(round: string, { principal, method, params }: ClientRequest): string {
    const subject = [round, toOwnerKey(principal), principal.agent, principal.profile, method]
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
