import { ownerOf, SallyportError } from '@sallyport/core'
import type { Upstream } from '../upstream/upstream.ts'
import type { Answer, Call } from './call.ts'

/** Sends the call to its server. Every failure on the way is an answer too. */
export async function dispatch(call: Call, upstream: (server: string) => Upstream | undefined): Promise<Answer> {
  const { offer, method, params, principal, cancellation, onProgress } = call
  const server = upstream(offer.server)
  if (!server)
    return failure(new SallyportError('UPSTREAM_UNAVAILABLE', `Server ${offer.server} is no longer configured.`))
  try {
    const request = { method, params, name: offer.name, session: ownerOf(principal), cancellation, onProgress }
    return { kind: 'frame', ...(await server.request(request)) }
  } catch (error) {
    if (error instanceof SallyportError) return failure(error)
    return failure(
      new SallyportError('INTERNAL', `Something broke inside the gateway (incident ${call.id}).`, { cause: error }),
    )
  }
}

const failure = (error: SallyportError): Answer => ({ kind: 'failure', error })
