import {
  type Era,
  formatParam,
  isJsonObject,
  type JsonObject,
  redactText,
  SallyportError,
  toOwnerKey,
} from '@sallyport/core'
import { encodeHeaderValue } from '@sallyport/kit/http-intake'
import { findHeaderParams } from '../catalog/catalog.ts'
import type { AskClient, CallLimit, ClientCall, Frame, Permit, Upstream, UpstreamReply } from '../upstream/upstream.ts'
import type { Answer, Call } from './call.ts'
import { askForInputs, MAX_ROUNDS } from './input-rounds.ts'

/** How a call is sent. */
export interface DispatchOptions {
  /** Puts to its client what the server asks while it runs, and outside of calls. */
  readonly ask: AskClient | undefined
  readonly askStanding: AskClient | undefined
  readonly limit: CallLimit | undefined
  /** An entry lets keys and tokens pass. */
  readonly mayTellSecrets: boolean
  /** Only values of a schema go back (ISO-11). */
  readonly isQuarantined: boolean
  readonly permit: Permit
}

/** Sends the call to its server. Every failure on the way is an answer too. */
export function dispatch(call: Call, server: Upstream | undefined, options: DispatchOptions): Promise<Answer> {
  if (!server) {
    const message = `Server ${call.offer.server} is no longer configured.`
    return Promise.resolve(failed(call, new SallyportError('UPSTREAM_UNAVAILABLE', message)))
  }
  // An async function would cost each call more than all that it does here.
  return sendFirst(call, server, options).then(
    ({ frame, era }) => {
      if (options.isQuarantined || isFinal(call, frame, era)) return { kind: 'frame', frame, era }
      return runInputRounds(call, server, { frame, options }).catch((error: unknown) => failed(call, error))
    },
    (error: unknown) => failed(call, error),
  )
}

/** What a server throws at once is no other failure than one that comes later. */
function sendFirst(call: Call, server: Upstream, options: DispatchOptions): Promise<UpstreamReply> {
  try {
    return server.request(outgoingCall(call, call.params, options))
  } catch (error) {
    return Promise.reject(error)
  }
}

function outgoingCall(
  call: Call,
  params: JsonObject,
  { ask, askStanding, limit, mayTellSecrets, isQuarantined, permit }: DispatchOptions,
): ClientCall {
  // Written out: every call passes here, and spreading costs more than all the rest.
  return {
    method: call.method,
    params,
    name: call.subject ?? call.offer.name,
    session: toOwnerKey(call.principal),
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
  }
}

/** How far it is, without what the server says of that. */
const withoutMessage = (tell: Call['onProgress']): Call['onProgress'] =>
  tell &&
  (({ progress, total }) =>
    tell({ ...(typeof progress === 'number' && { progress }), ...(typeof total === 'number' && { total }) }))

/** A client that cannot be asked in between is told itself what the server still needs. */
const isFinal = ({ client }: Call, { envelope }: Frame, era: Era): boolean =>
  envelope.resultType !== 'input_required' || era === 'legacy' || client?.answersInCall === false

/** A modern server needs something of a client that can only be asked in between. */
async function runInputRounds(call: Call, server: Upstream, first: Round): Promise<Answer> {
  const { options } = first
  let { frame } = first
  for (let round = 1; round < MAX_ROUNDS; round++) {
    const params = await askForInputs(call, frame, options.ask)
    const reply = await server.request(outgoingCall(call, params, options))
    if (isFinal(call, reply.frame, reply.era)) return { kind: 'frame', frame: reply.frame, era: reply.era }
    frame = reply.frame
  }
  throw new SallyportError('UPSTREAM_PROTOCOL', `The server asked for more input ${MAX_ROUNDS} times in a row.`)
}

interface Round {
  readonly frame: Frame
  readonly options: DispatchOptions
}

/** It may quote what the server said, and goes to the client and into the record. */
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

/** The headers that go with a call: what its tool wants repeated of the arguments, and what the client sent besides. */
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
