import { ownerOf, SallyportError } from '@sallyport/core'
import type { Upstream } from '../upstream/upstream.ts'
import type { Answer, Call } from './call.ts'
import { type AskClient, MOST_ROUNDS, nextRound } from './input-rounds.ts'
import { mirroredHeaders } from './mirrored-headers.ts'

/** Sends the call to its server. Every failure on the way is an answer too. */
export async function dispatch(call: Call, server: Upstream | undefined, ask: AskClient | undefined): Promise<Answer> {
  if (!server)
    return failure(new SallyportError('UPSTREAM_UNAVAILABLE', `Server ${call.offer.server} is no longer configured.`))
  try {
    return await converse(call, server, ask)
  } catch (error) {
    if (error instanceof SallyportError) return failure(error)
    return failure(
      new SallyportError('INTERNAL', `Something broke inside the gateway (incident ${call.id}).`, { cause: error }),
    )
  }
}

/** One request, but for a modern server that needs something of a client that can only be asked in between. */
async function converse(call: Call, server: Upstream, ask: AskClient | undefined): Promise<Answer> {
  const { offer, method, principal, client, cancellation, onProgress, trace } = call
  const told = { session: ownerOf(principal), headers: mirroredHeaders(call), trace }
  let { params } = call
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const request = { method, params, name: offer.name, ...told, client, ask, cancellation, onProgress }
    const { frame, era } = await server.request(request)
    const isFinal = frame.envelope.resultType !== 'input_required' || era === 'legacy' || client?.era === 'modern'
    if (isFinal) return { kind: 'frame', frame, era }
    params = await nextRound(call, frame, ask ?? unasked)
  }
  throw new SallyportError('UPSTREAM_PROTOCOL', `The server asked for more input ${MOST_ROUNDS} times in a row.`)
}

const unasked: AskClient = async ({ method }) => ({ error: { code: -32601, message: `Nobody answers ${method}.` } })

const failure = (error: SallyportError): Answer => ({ kind: 'failure', error })
