import { type Era, type JsonObject, ownerOf, SallyportError } from '@sallyport/core'
import type { Frame, Upstream, UpstreamRequest } from '../upstream/upstream.ts'
import type { Answer, Call } from './call.ts'
import { type AskClient, MOST_ROUNDS, nextRound } from './input-rounds.ts'
import { mirroredHeaders } from './mirrored-headers.ts'

/** Sends the call to its server. Every failure on the way is an answer too. */
export async function dispatch(call: Call, server: Upstream | undefined, ask: AskClient | undefined): Promise<Answer> {
  if (!server)
    return failure(new SallyportError('UPSTREAM_UNAVAILABLE', `Server ${call.offer.server} is no longer configured.`))
  try {
    const { frame, era } = await server.request(requestOf(call, call.params, ask))
    if (isFinal(call, frame, era)) return { kind: 'frame', frame, era }
    return await converse(call, server, { frame, ask })
  } catch (error) {
    if (error instanceof SallyportError) return failure(error)
    return failure(
      new SallyportError('INTERNAL', `Something broke inside the gateway (incident ${call.id}).`, { cause: error }),
    )
  }
}

function requestOf(call: Call, params: JsonObject, ask: AskClient | undefined): UpstreamRequest {
  // Written out: every call passes here, and spreading costs more than all the rest.
  return {
    method: call.method,
    params,
    name: call.subject ?? call.offer.name,
    session: ownerOf(call.principal),
    headers: mirroredHeaders(call),
    trace: call.trace,
    client: call.client,
    ask,
    cancellation: call.cancellation,
    onProgress: call.onProgress,
    subscription: call.subscription,
  }
}

/** A modern client is told itself what the server still needs. */
const isFinal = ({ client }: Call, { envelope }: Frame, era: Era): boolean =>
  envelope.resultType !== 'input_required' || era === 'legacy' || client?.era === 'modern'

/** A modern server needs something of a client that can only be asked in between. */
async function converse(call: Call, server: Upstream, first: Round): Promise<Answer> {
  const ask = first.ask ?? unasked
  let { frame } = first
  for (let round = 1; round < MOST_ROUNDS; round++) {
    const params = await nextRound(call, frame, ask)
    const reply = await server.request(requestOf(call, params, ask))
    if (isFinal(call, reply.frame, reply.era)) return { kind: 'frame', frame: reply.frame, era: reply.era }
    frame = reply.frame
  }
  throw new SallyportError('UPSTREAM_PROTOCOL', `The server asked for more input ${MOST_ROUNDS} times in a row.`)
}

interface Round {
  readonly frame: Frame
  readonly ask: AskClient | undefined
}

const unasked: AskClient = async ({ method }) => ({ error: { code: -32601, message: `Nobody answers ${method}.` } })

const failure = (error: SallyportError): Answer => ({ kind: 'failure', error })
