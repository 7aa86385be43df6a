import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { canonicalJson, type JsonObject, SallyportError, toOwnerKey } from '@sallyport/core'
import type { Answer } from '../../pipeline/pipeline.ts'
import type { ClientRequest } from '../rpc/client-request.ts'
import { ParkedCall, type RoundOutcome } from './parked-call.ts'

/** The reply to the client: the answer of its call, or the input that the server needs and the state to send it with. */
export type ParkedCallOutcome =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'input'; readonly result: JsonObject }

/** How long a call waits for its client. Long, because a person may have to answer. */
const CLIENT_TIMEOUT_MS = 600_000
/** Limit for all answers that are retained for clients that are away. */
const MAX_RETAINED_BYTES = 64_000_000
/** Estimated size of a call without its answer. */
const CALL_OVERHEAD_BYTES = 1_000

/** Distinguishes our states from those of servers. It is no secret: the signature protects the state. */
const STATE_PREFIX = 'sallyport.'

export const isParkedState = (state: unknown): boolean => typeof state === 'string' && state.startsWith(STATE_PREFIX)

interface ParkedEntry {
  readonly id: string
  readonly call: ParkedCall
  /** How often the client was asked for input. */
  rounds: number
  timer: NodeJS.Timeout | undefined
  /** The size of its answer, if that is retained. */
  retainedBytes: number
}

/** Calls whose server waits for the client's answer, between two requests of the client. */
export class ParkedCalls {
  readonly #parked = new Map<string, ParkedEntry>()
  /** Signs states. It exists only in this process, so states are invalid after a restart. */
  readonly #key = randomBytes(32)
  readonly #timeoutMs: number
  #retainedBytes = 0

  /** `timeoutMs`: how long a call waits between two requests of its client. */
  constructor(timeoutMs = CLIENT_TIMEOUT_MS) {
    this.#timeoutMs = timeoutMs
  }

  /** Starts a call that may have to wait for its client. */
  async begin(request: ClientRequest, run: (call: ParkedCall) => Promise<Answer>): Promise<ParkedCallOutcome> {
    const call = new ParkedCall(request)
    const id = randomBytes(16).toString('base64url')
    const parked: ParkedEntry = { id, call, rounds: 0, timer: undefined, retainedBytes: 0 }
    const outcome = call.nextRound(request)
    void run(call).then(
      (answer) => call.end({ kind: 'answer', answer: call.hasWaitingRequest ? answer : this.#retain(parked, answer) }),
      (error: unknown) => call.end({ kind: 'broken', error }),
    )
    return this.#finishRound(request, parked, await outcome)
  }

  /** Continues a call that waits for the answers in this request. */
  async resume(request: ClientRequest): Promise<ParkedCallOutcome> {
    const parked = this.#parked.get(this.#verifyState(request))
    if (!parked) throw invalidState('This call no longer waits: it is over, or it waited for too long.')
    clearTimeout(parked.timer)
    return this.#finishRound(request, parked, await parked.call.nextRound(request))
  }

  #finishRound(request: ClientRequest, parked: ParkedEntry, outcome: RoundOutcome): ParkedCallOutcome {
    if (outcome.kind === 'superseded')
      throw invalidState('The same request was made again meanwhile.', 'Its answer goes to the later one.')
    const { id } = parked
    this.#remove(parked)
    if (outcome.kind === 'broken') throw outcome.error
    if (outcome.kind === 'answer') return outcome
    this.#parked.set(id, parked)
    parked.timer = setTimeout(() => this.#giveUp(parked), this.#timeoutMs).unref()
    const { inputRequests } = outcome
    // Each round has its own state. An earlier state is still valid, for a client that did not receive the reply.
    const round = `${id}.${++parked.rounds}`
    const requestState = `${STATE_PREFIX}${round}.${this.#sign(round, request)}`
    return { kind: 'input', result: { resultType: 'input_required', inputRequests, requestState } }
  }

  #giveUp(parked: ParkedEntry): void {
    this.#remove(parked)
    parked.call.cancellation.cancel('the client did not come back with an answer')
  }

  /** The client is away and may never come back: answers that wait for it must not fill our memory. */
  #retain(parked: ParkedEntry, answer: Answer): Answer {
    if (!this.#parked.has(parked.id)) return answer
    const bytes = CALL_OVERHEAD_BYTES + (answer.kind === 'frame' ? answer.frame.envelope.bytes : 0)
    const isRetained = this.#retainedBytes + bytes <= MAX_RETAINED_BYTES
    parked.retainedBytes = isRetained ? bytes : 0
    this.#retainedBytes += parked.retainedBytes
    return isRetained ? answer : { kind: 'failure', error: lostAnswer() }
  }

  #remove(parked: ParkedEntry): void {
    this.#parked.delete(parked.id)
    this.#retainedBytes -= parked.retainedBytes
    parked.retainedBytes = 0
  }

  #verifyState(request: ClientRequest): string {
    const [id = '', round = '', signature = ''] = String(request.params.requestState)
      .slice(STATE_PREFIX.length)
      .split('.')
    const expected = Buffer.from(this.#sign(`${id}.${round}`, request))
    const given = Buffer.from(signature)
    if (given.length !== expected.length || !timingSafeEqual(given, expected))
      throw invalidState('The requestState is not one that belongs to this call.')
    return id
  }

  /** Binds a state to its caller and to the call: it is valid for nothing else. */
  #sign(round: string, { principal, method, params }: ClientRequest): string {
    const subject = [round, toOwnerKey(principal), principal.agent, principal.profile, method]
    const { name, uri, arguments: args = {} } = params
    // Canonical, because a client may have changed the order of members.
    const signed = canonicalJson([...subject, name ?? uri ?? '', args])
    return createHmac('sha256', this.#key).update(signed).digest('base64url')
  }
}

const lostAnswer = (): SallyportError =>
  new SallyportError('RESULT_WITHHELD', 'The call has ended, but its answer was too large to be kept.', {
    hint: 'It ended before the client came back. Check what it did before you repeat it.',
  })

const invalidState = (message: string, hint = 'Make the call again without a requestState.'): SallyportError =>
  new SallyportError('INVALID_PARAMS', message, { hint })
