import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { SallyportError } from '@sallyport/core'

/**
 * A port of this machine on which nobody listens: the wanted one, or any.
 *
 * Whoever sits on a port already would be asked in place of our own process, and be given its token.
 */
export async function findFreePort(wanted: number | undefined, server: string): Promise<number> {
  const probe = createServer()
  try {
    probe.listen({ host: '127.0.0.1', port: wanted ?? 0, exclusive: true })
    await once(probe, 'listening')
    return (probe.address() as AddressInfo).port
  } catch (cause) {
    const what = `The server "${server}" cannot listen on port ${wanted ?? 0} of 127.0.0.1: it is in use or not allowed.`
    throw new SallyportError('UPSTREAM_UNAVAILABLE', what, {
      hint: 'Choose another `port`, or leave it out: then a free one is taken.',
      cause,
    })
  } finally {
    probe.close()
  }
}
