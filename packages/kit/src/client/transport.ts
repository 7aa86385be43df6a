import type { Transport } from '@modelcontextprotocol/client'
import { createBearerFetch } from './bearer-fetch.ts'
import type { Endpoint, HttpEndpoint, ProcessEndpoint } from './endpoint.ts'
import { MemoryTransport } from './memory-transport.ts'

/** A way to one server that is not yet open. */
export interface ClientTransport {
  readonly transport: Transport
  readonly redact: (text: string) => string
  /** Tells a server that keeps a session that it is over. */
  readonly endSession: () => Promise<void>
}

/** `beforeSend` throws where a request may not leave any more; it is asked at the last possible moment. */
export async function createClientTransport(
  endpoint: Endpoint,
  beforeSend: (body: unknown) => void,
): Promise<ClientTransport> {
  if ('server' in endpoint) return wrapTransport(new MemoryTransport(endpoint))
  if ('command' in endpoint) return wrapTransport(await createProcessTransport(endpoint))
  return createHttpTransport(endpoint, beforeSend)
}

const wrapTransport = (transport: Transport): ClientTransport => ({
  transport,
  redact: (text) => text,
  endSession: async () => {},
})

async function createProcessTransport({ command, args = [], env, cwd }: ProcessEndpoint): Promise<Transport> {
  const { getDefaultEnvironment, StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  return new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    ...(cwd !== undefined && { cwd }),
  })
}

async function createHttpTransport(
  endpoint: HttpEndpoint,
  beforeSend: (body: unknown) => void,
): Promise<ClientTransport> {
  const { SSEClientTransport, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const { fetch, redact } = createBearerFetch(endpoint, beforeSend)
  const options = { fetch, requestInit: { headers: { ...endpoint.headers } } }
  const url = new URL(endpoint.url)
  if (endpoint.transport === 'sse')
    return { transport: new SSEClientTransport(url, options), redact, endSession: async () => {} }
  const transport = new StreamableHTTPClientTransport(url, options)
  return { transport, redact, endSession: () => transport.terminateSession() }
}
