import {
  formatParam,
  isJsonObject,
  type NetworkMode,
  type Principal,
  redactText,
  SallyportError,
  toOwnerKey,
} from '@sallyport/core'
import { encodeHeaderValue } from '@sallyport/kit/http-intake'
import { findHeaderParams } from '../catalog/catalog.ts'
import { ChildSession } from '../governance/governance.ts'
import type { CallEgress } from '../sandbox/sandbox.ts'
import type {
  AskClient,
  CallerIdentity,
  CallLimit,
  CallRoute,
  ClientCall,
  Permit,
  Upstream,
  UpstreamReply,
} from '../upstream/upstream.ts'
import type { Answer, Call } from './call.ts'
import { askForInputs, MAX_ROUNDS } from './input-rounds.ts'

/** How a call is sent. */
export interface DispatchOptions {
  /** Asks the client what the server wants to know, during the call (`ask`) and outside of calls (`askStanding`). */
  readonly ask: AskClient | undefined
  readonly askStanding: AskClient | undefined
  readonly limit: CallLimit | undefined
  /** Whether an entry allows keys and tokens. */
  readonly mayTellSecrets: boolean
  /** Whether only values that match a schema are returned (ISO-11). */
  readonly isQuarantined: boolean
  readonly permit: Permit
  /** For a server with an isolated instance. */
  readonly route: CallRoute | undefined
  /** Tells servers who calls, if their entries ask for that (SEN-19). */
  readonly callers?: Callers | undefined
  /**
   * Raises the label that belongs to an answer with questions, before the client is asked them. Rejects if it cannot be
   * stored.
   */
  readonly raiseLabel: (answer: Answer) => Promise<void> | undefined
  /** What the session of a call may reach, for servers in a sandbox. */
  readonly networkModeOf?: ((call: Call) => () => NetworkMode) | undefined
  /** For a server in a sandbox. */
  readonly egress?: CallEgress | undefined
  /** A person approved that this call may connect to others, although its session is private. */
  readonly mayConnect?: boolean | undefined
}

/** The identities of callers, for servers. */
export interface Callers {
  find(principal: Principal): CallerIdentity
  /** For one call of this tool. */
  findForConnect(principal: Principal, tool: string): CallerIdentity
}

/** Sends the call to its server. Every failure is returned as an answer. */
export function dispatch(call: Call, server: Upstream | undefined, options: DispatchOptions): Promise<Answer> {
  if (!server) {
    const message = `Server ${call.offer.server} is no longer configured.`
    return Promise.resolve(failed(call, new SallyportError('UPSTREAM_UNAVAILABLE', message)))
  }
  // No async function: it would cost each call more than all the work here.
  return sendFirst(call, server, options).then(
    (reply) => {
      if (options.isQuarantined || isFinal(call, reply)) return toAnswer(reply)
      return runInputRounds(call, server, { reply, options }).catch((error: unknown) => failed(call, error))
    },
    (error: unknown) => failed(call, error),
  )
}

/** Turns an error that is thrown synchronously into a rejection, so that both are handled alike. */
function sendFirst(call: Call, server: Upstream, options: DispatchOptions): Promise<UpstreamReply> {
  try {
    return server.request(outgoingCall(call, server, options))
  } catch (error) {
    return Promise.reject(error)
  }
}

function outgoingCall(call: Call, { config }: Upstream, options: DispatchOptions): ClientCall {
  const isSandboxed = options.egress !== undefined
  const { ask, askStanding, limit, mayTellSecrets, isQuarantined, permit, route } = options
  // Written out: this runs for every call, and spreading would cost more than everything else.
  return {
    method: call.method,
    params: call.params,
    name: call.subject ?? call.offer.name,
    session: toOwnerKey(isSandboxed ? labelledPrincipal(call) : call.principal),
    networkMode: isSandboxed ? options.networkModeOf?.(call) : undefined,
    egress: options.egress,
    endsSession: isSandboxed && call.holder instanceof ChildSession,
    caller: config.identity === undefined ? undefined : findCaller(call, options),
    headers: mirroredHeaders(call),
    trace: call.trace,
    span: call.span,
    client: call.client,
    ask,
    askStanding,
    limit,
    cancellation: call.cancellation,
    onProgress: isQuarantined ? withoutMessage(call.onProgress) : call.onProgress,
    mayTellSecrets,
    isQuarantined,
    permit,
    subscription: call.subscription,
    route,
  }
}

/** A call that was approved to connect has a token of its own, each time it is sent. */
const findCaller = (call: Call, { callers, mayConnect }: DispatchOptions): CallerIdentity | undefined => {
  const caller = labelledPrincipal(call)
  return mayConnect ? callers?.findForConnect(caller, call.offer.name) : callers?.find(caller)
}

/** Whose label the call has: a sub-agent is a session of its own for servers that know about labels. */
const labelledPrincipal = ({ principal, holder }: Call): Principal =>
  holder instanceof ChildSession ? holder.principal : principal

/** Passes on the progress numbers without the server's message. */
const withoutMessage = (report: Call['onProgress']): Call['onProgress'] =>
  report &&
  (({ progress, total }) =>
    report({ ...(typeof progress === 'number' && { progress }), ...(typeof total === 'number' && { total }) }))

/** Whether the answer goes to the client. If the client cannot be asked during a call, it gets the server's questions as the answer. */
const isFinal = ({ client }: Call, { frame: { envelope }, era }: UpstreamReply): boolean =>
  envelope.resultType !== 'input_required' || era === 'legacy' || client?.answersInCall === false

/** Asks the client what a modern server needs, and repeats the call with the answers. */
async function runInputRounds(call: Call, server: Upstream, first: Round): Promise<Answer> {
  const { options } = first
  let { reply } = first
  for (let round = 1; round < MAX_ROUNDS; round++) {
    await options.raiseLabel(toAnswer(reply))
    const params = await askForInputs(call, reply.frame, options.ask)
    reply = await server.request(outgoingCall({ ...call, params }, server, options))
    if (isFinal(call, reply)) return toAnswer(reply)
  }
  throw new SallyportError('UPSTREAM_PROTOCOL', `The server asked for more input ${MAX_ROUNDS} times in a row.`)
}

const toAnswer = (reply: UpstreamReply): Answer => ({ kind: 'frame', ...reply })

interface Round {
  readonly reply: UpstreamReply
  readonly options: DispatchOptions
}

/** The message may quote the server, and it goes to the client and into the record. */
function redactError(error: SallyportError): SallyportError {
  const message = redactText(error.message)
  if (message === error.message) return error
  const { code, hint, cause } = error
  return new SallyportError(code, message, { ...(hint && { hint }), cause })
}

function failed({ id }: Call, error: unknown): Answer {
  if (error instanceof SallyportError) return { kind: 'failure', error: redactError(error) }
  const message = `Something broke inside the gateway (incident ${id}).`
  return { kind: 'failure', error: new SallyportError('INTERNAL', message, { cause: error }) }
}

/** The headers of a call: arguments that the tool wants repeated as headers, and the client's own headers. */
function mirroredHeaders({ method, offer, params, headers }: Call): readonly string[] | undefined {
  const repeated = method === 'tools/call' ? findHeaderParams(offer) : []
  if (repeated.length === 0) return headers
  const args = isJsonObject(params.arguments) ? params.arguments : {}
  const mirrored = repeated.flatMap((param) => {
    const text = formatParam(param, args)
    return text === undefined ? [] : [param.header, encodeHeaderValue(text)]
  })
  return headers ? [...mirrored, ...headers] : mirrored
}
