import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { SallyportError } from '@sallyport/core'
import type { Connection } from '../protocol/protocol.ts'
import {
  type BearerToken,
  type Endpoint,
  endpointName,
  type HttpEndpoint,
  type MemoryEndpoint,
  type ProcessEndpoint,
} from './endpoint.ts'

/** A transport to one server, not yet open. */
export interface ClientTransport {
  readonly transport: Transport
  readonly redact: (text: string) => string
  /** Ends the session at a server that has sessions. */
  readonly endSession: () => Promise<void>
}

/** `beforeSend` throws if a request may no longer be sent. It is called at the last possible moment. */
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

/** Carries messages to a kit server in the same process, each serialized as it would be on the wire. */
class MemoryTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  readonly #endpoint: MemoryEndpoint
  #connection: Connection | undefined

  constructor(endpoint: MemoryEndpoint) {
    this.#endpoint = endpoint
  }

  async start(): Promise<void> {
    const { server, identity } = this.#endpoint
    this.#connection ??= server.connect(
      (message) => {
        const copy = JSON.parse(JSON.stringify(message))
        queueMicrotask(() => this.onmessage?.(copy))
      },
      identity === undefined ? {} : { identity },
    )
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#connection?.receive(JSON.parse(JSON.stringify(message)))
  }

  async close(): Promise<void> {
    this.#connection?.close()
    this.#connection = undefined
    this.onclose?.()
  }
}

/** RFC 6750: any other character would break the header or inject another one. */
const TOKEN_PATTERN = /^[\w.~+/-]+=*$/

interface BearerFetch {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>
  /** Removes from a server's text the tokens that it may have echoed. */
  readonly redact: (text: string) => string
}

/** Sends requests with the current token. It calls `beforeSend` last, which throws if nothing may be sent. */
function createBearerFetch(endpoint: HttpEndpoint, beforeSend: (body: unknown) => void): BearerFetch {
  const { bearerToken } = endpoint
  const secrets = Object.values(endpoint.headers ?? {}).flatMap(listSecrets)
  const used = new Set<string>()
  const send = async (url: string | URL, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers)
    if (bearerToken !== undefined) headers.set('authorization', `Bearer ${await readToken(bearerToken, used)}`)
    beforeSend(init.body)
    return fetch(url, { ...init, headers })
  }
  return {
    fetch: async (url, init = {}) => {
      const response = await send(url, init)
      if (response.status !== 401 || typeof bearerToken !== 'function') return response
      await response.body?.cancel()
      return send(url, init)
    },
    redact: (text) => {
      const named = text.replaceAll(endpoint.url, endpointName(endpoint))
      return [...secrets, ...used].reduce((rest, token) => rest.replaceAll(token, '…'), named)
    },
  }
}

/** Short values such as "true" are not redacted: they occur in any text. */
const MIN_SECRET_LENGTH = 6

/** A header's value, and the part after its scheme: servers echo either. */
const listSecrets = (value: string): readonly string[] =>
  [value, value.replace(/^\S+\s+/, '')].filter((secret) => secret.length >= MIN_SECRET_LENGTH)

async function readToken(bearerToken: BearerToken, used: Set<string>): Promise<string> {
  const token = typeof bearerToken === 'string' ? bearerToken : await callTokenProvider(bearerToken)
  if (typeof token !== 'string' || !TOKEN_PATTERN.test(token))
    throw new SallyportError('UNAUTHENTICATED', 'The bearer token is not valid; expected letters, digits and -._~+/=.')
  used.add(token)
  if (used.size > MAX_REMEMBERED_TOKENS) used.delete(used.values().next().value ?? '')
  return token
}

const MAX_REMEMBERED_TOKENS = 8

async function callTokenProvider(provider: Exclude<BearerToken, string>): Promise<string> {
  try {
    return await provider()
  } catch (cause) {
    // Its message may contain credentials, so ours does not repeat it.
    throw new SallyportError('UNAUTHENTICATED', 'The function that returns the bearer token failed.', { cause })
  }
}
