import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Agent, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import {
  cutText,
  hasDuplicateKey,
  isJsonObject,
  isLoopback,
  messageOf,
  SallyportError,
  toVisibleText,
} from '@sallyport/core'
import type { GovernanceSettings } from '../config/config.ts'
import type { ApprovalAnswer, EffectiveAnswer, PendingApproval } from './approval.ts'
import { type ApprovalView, toApprovalView } from './approval-view.ts'
import type { Approvals } from './approvals.ts'

interface HookRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly signal: AbortSignal
}

interface HookReply {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

const TIMEOUT_MS = 5_000
const MAX_REPLY_BYTES = 65_536
/** A thousand calls may start waiting at the same time. */
const MAX_SOCKETS = 16

/** Posts to a web hook. Redirects are not followed, because the body contains the arguments of calls. */
class HookPoster {
  readonly #plain: Connector = { request: httpRequest, agent: new HttpAgent({ maxSockets: MAX_SOCKETS }) }
  #encrypted: Promise<Connector> | undefined

  async post({ url, headers, body, signal }: HookRequest): Promise<HookReply> {
    const { request: sendRequest, agent } = url.startsWith('http:') ? this.#plain : await this.#overTls()
    return new Promise((resolve, reject) => {
      const request = sendRequest(url, {
        method: 'POST',
        agent,
        headers: { ...headers, 'content-type': 'application/json', 'content-length': body.length },
        signal,
      })
      let timer: NodeJS.Timeout | undefined
      // The timeout starts with the connection: before that, the request waits for our other requests.
      request.once('socket', () => {
        timer = setTimeout(() => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1_000} s`)), TIMEOUT_MS)
      })
      request.once('error', reject).once('close', () => clearTimeout(timer))
      request.once('response', (response) => readReply(response).then(resolve, reject))
      request.end(body)
    })
  }

  #overTls(): Promise<Connector> {
    this.#encrypted ??= openTlsConnector()
    return this.#encrypted
  }

  close(): void {
    this.#plain.agent.destroy()
    void this.#encrypted?.then(({ agent }) => agent.destroy())
  }
}

interface Connector {
  readonly request: typeof httpRequest
  readonly agent: Agent
}

/** Loaded on first use: few gateways have a web hook, and loading TLS would slow down every start. */
async function openTlsConnector(): Promise<Connector> {
  const { Agent: HttpsAgent, request } = await import('node:https')
  return { request: request, agent: new HttpsAgent({ maxSockets: MAX_SOCKETS }) }
}

async function readReply(response: IncomingMessage): Promise<HookReply> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_REPLY_BYTES) throw new Error(`its answer has more than ${MAX_REPLY_BYTES} bytes`)
    chunks.push(chunk)
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }
}

type HookSettings = NonNullable<GovernanceSettings['approvalHook']>

export interface ApprovalHookOptions {
  readonly approvals: Pick<Approvals, 'answer' | 'onChange' | 'pending'>
  /** Called for each request; `undefined` if no hook is configured. */
  readonly settings: () => HookSettings | undefined
  /** Where an answer can be sent later; `undefined` while no port is open. */
  readonly answerUrl: (id: string) => string | undefined
  readonly now: () => number
  readonly onWarning: (text: string) => void
  /** The delay before each retry, in milliseconds. */
  readonly pauses?: readonly number[]
}

const RETRY_DELAYS_MS: readonly number[] = [500, 2_000]

/** Sends every approval request to a web hook and accepts its signed answers. Calls do not wait for the delivery. */
export class ApprovalHook {
  readonly #options: ApprovalHookOptions
  readonly #poster = new HookPoster()
  /** Deliveries in flight, by the id of the request. */
  readonly #inFlight = new Map<string, AbortController>()
  readonly #stop: () => void
  /** The last problem. It is reported once, until a delivery succeeds again. */
  #lastProblem: string | undefined

  constructor(options: ApprovalHookOptions) {
    this.#options = options
    this.#stop = options.approvals.onChange(({ kind, approval }) => {
      if (kind === 'settled') return this.#inFlight.get(approval.id)?.abort()
      const settings = options.settings()
      if (settings) void this.#deliver(approval, settings)
    })
  }

  /** Accepts an answer that was sent later. The signature is the credential, so it needs a configured secret. */
  async acceptAnswer(id: string, signed: SignedMessage): Promise<EffectiveAnswer> {
    const settings = this.#options.settings()
    if (!settings)
      throw new SallyportError('FORBIDDEN', 'No web hook is configured, so there is nobody who could answer this way.')
    if (!isSigned(signed, { secret: settings.secret, now: this.#options.now() }))
      throw new SallyportError('UNAUTHENTICATED', 'The signature does not match, or is too old.', {
        hint: 'Sign "<timestamp>.<body>" with the secret of governance.approval_hook; docs/approvals.md shows how.',
      })
    return this.#answer(id, signed.body, settings)
  }

  /** Nobody can approve what was not sent. */
  #answer(id: string, body: Buffer, { url }: HookSettings): Promise<EffectiveAnswer> {
    const { approvals } = this.#options
    const answer = readHookAnswer(body, id)
    const isPrivate = approvals.pending.find((one) => one.id === id)?.isForPrivateData
    if (answer.answer !== 'deny' && isPrivate && !isOnThisMachine(url))
      throw new SallyportError(
        'FORBIDDEN',
        'The web hook was not sent what this call contains, so it can only deny it.',
        {
          hint: `Read and approve it on this machine: sallyport approvals approve ${id}`,
        },
      )
    return approvals.answer(id, answer)
  }

  close(): void {
    this.#stop()
    for (const delivery of this.#inFlight.values()) delivery.abort()
    this.#poster.close()
  }

  async #deliver(approval: PendingApproval, settings: HookSettings): Promise<void> {
    const delivery = new AbortController()
    this.#inFlight.set(approval.id, delivery)
    try {
      const reply = await this.#send(approval, settings, delivery.signal)
      if (isAnswer(reply)) await this.#applyReply(approval, reply, settings)
      this.#lastProblem = undefined
    } catch (error) {
      // Not a problem if somebody else has answered in the meantime.
      if (!delivery.signal.aborted && !isSettled(error)) this.#warn(messageOf(error))
    } finally {
      this.#inFlight.delete(approval.id)
    }
  }

  async #send(approval: PendingApproval, { url, secret }: HookSettings, signal: AbortSignal): Promise<HookReply> {
    const { answerUrl, now, pauses = RETRY_DELAYS_MS } = this.#options
    const answer_url = answerUrl(approval.id)
    const view = approval.isForPrivateData && !isOnThisMachine(url) ? toNotice(approval) : toApprovalView(approval)
    const body = Buffer.from(JSON.stringify({ ...view, ...(answer_url && { answer_url }) }))
    for (let tries = 0; ; tries++) {
      const post = { url, body, signal, headers: signatureHeaders(body, { secret, now: now() }) }
      const reply = await this.#poster.post(post).catch(asError)
      if (!(reply instanceof Error) && reply.status >= 200 && reply.status < 300) return reply
      signal.throwIfAborted()
      const pause = pauses[tries]
      if (pause === undefined) throw reply instanceof Error ? reply : new Error(`it answered with ${reply.status}`)
      await delay(pause, undefined, { signal })
    }
  }

  /** Applies an answer that is already in the reply. */
  async #applyReply(approval: PendingApproval, reply: HookReply, settings: HookSettings): Promise<void> {
    if (!isSigned(reply, { secret: settings.secret, now: this.#options.now() }))
      throw new Error('its answer has no valid signature and was ignored')
    await this.#answer(approval.id, reply.body, settings)
  }

  #warn(problem: string): void {
    if (this.#lastProblem === problem) return
    this.#lastProblem = problem
    this.#options.onWarning(
      `The web hook for approvals does not work: ${problem}. Calls can be approved in other ways.`,
    )
  }
}

const isOnThisMachine = (url: string): boolean => isLoopback(new URL(url).hostname.replace(/^\[|\]$/g, ''))

/**
 * A request of a session with private data, for somebody elsewhere. Its arguments would leave unread with it, and the
 * URI of a resource is in its name and its reason.
 */
function toNotice(approval: PendingApproval): Omit<ApprovalView, 'arguments' | 'written' | 'secrets' | 'tool'> {
  const { arguments: _args, written: _written, secrets: _secrets, tool: _tool, ...facts } = toApprovalView(approval)
  const reason = `Private data may leave with this call. What it contains is shown on the machine of the gateway only: sallyport approvals show ${approval.id}`
  return { ...facts, reason }
}

/** Many receivers only acknowledge a delivery with some body, which is not an answer. */
const isAnswer = ({ headers, body }: HookReply): boolean =>
  headers[SIGNATURE_HEADER] !== undefined || body.includes('"answer"')

const isSettled = (error: unknown): boolean => error instanceof SallyportError && error.code === 'APPROVAL_SETTLED'

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

const TIMESTAMP_HEADER = 'x-sallyport-timestamp'
const SIGNATURE_HEADER = 'x-sallyport-signature'

/** The maximum clock difference, and how long a signature is valid. */
const TOLERANCE_SECONDS = 300

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

interface SignedMessage {
  readonly headers: Headers
  /** The exact bytes that were received. */
  readonly body: Buffer
}

interface SigningContext {
  readonly secret: string
  /** In milliseconds. */
  readonly now: number
}

/** The headers that prove who sent a body, and when. */
export function signatureHeaders(body: Buffer, { secret, now }: SigningContext): Record<string, string> {
  const timestamp = String(Math.floor(now / 1_000))
  return { [TIMESTAMP_HEADER]: timestamp, [SIGNATURE_HEADER]: sign({ secret, timestamp, body }) }
}

/** Whether the sender knows the secret and signed the message recently. */
function isSigned({ headers, body }: SignedMessage, { secret, now }: SigningContext): boolean {
  const { [TIMESTAMP_HEADER]: timestamp, [SIGNATURE_HEADER]: signature } = headers
  if (typeof timestamp !== 'string' || typeof signature !== 'string' || !/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now / 1_000 - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const [expected, given] = [Buffer.from(sign({ secret, timestamp, body })), Buffer.from(signature)]
  return expected.length === given.length && timingSafeEqual(expected, given)
}

interface Signable {
  readonly secret: string
  readonly timestamp: string
  readonly body: Buffer
}

const sign = ({ secret, timestamp, body }: Signable): string =>
  `v1=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`

const MEMBERS = new Set(['id', 'answer', 'by', 'why'])
const ANSWERS = ['deny', 'once', 'session'] as const
const MAX_NAME_LENGTH = 100
const MAX_REASON_LENGTH = 500

/** Reads the answer of a web hook. It must contain the id of the request, so that it is not valid for another one. */
function readHookAnswer(body: Buffer, id: string): ApprovalAnswer {
  const reply = parse(body)
  const unknown = Object.keys(reply).find((name) => !MEMBERS.has(name))
  if (unknown !== undefined)
    throw invalidAnswerError(`"${cutText(toVisibleText(unknown), MAX_NAME_LENGTH)}" is not known`)
  if (reply.id !== id) throw invalidAnswerError('its "id" is not the one of this request')
  if (reply.answer === 'always')
    throw new SallyportError('ALWAYS_REFUSED', 'A web hook cannot change the rules permanently.', {
      hint: 'Answer "once" or "session"; "always" is for the operator: `sallyport approvals approve --always`.',
    })
  const answer = ANSWERS.find((known) => known === reply.answer)
  if (answer === undefined) throw invalidAnswerError(`its "answer" is not one of ${ANSWERS.join(', ')}`)
  const by = readShortText(reply.by, MAX_NAME_LENGTH)
  if (by === undefined) throw invalidAnswerError('its "by" does not say who answered')
  const why = readShortText(reply.why, MAX_REASON_LENGTH)
  return { answer, by: `hook: ${by}`, via: 'hook', ...(why !== undefined && { why }) }
}

function parse(body: Buffer): Readonly<Record<string, unknown>> {
  const text = body.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw invalidAnswerError('it is not JSON', cause)
  }
  if (!isJsonObject(value)) throw invalidAnswerError('it is not an object')
  // The signer may have meant the other one of two answers.
  if (hasDuplicateKey(text)) throw invalidAnswerError('it contains the same key twice')
  return value
}

function readShortText(value: unknown, max: number): string | undefined {
  const text = typeof value === 'string' ? toVisibleText(value.trim()) : ''
  return text === '' ? undefined : cutText(text, max)
}

const invalidAnswerError = (problem: string, cause?: unknown): SallyportError =>
  new SallyportError('INVALID_PARAMS', `The answer cannot be used: ${problem}.`, {
    hint: 'Expected {"id": "…", "answer": "once", "by": "…", "why": "…"}; "why" may be left out.',
    cause,
  })
