import type { Identity } from '../identity/identity.ts'
import type { McpServer } from '../mcp-server.ts'

/** A bearer token, or a function that returns the current one. */
export type BearerToken = string | (() => string | Promise<string>)

export type HttpTransport = 'streamable-http' | 'sse'

export interface HttpEndpoint {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly bearerToken?: BearerToken
  /** `sse` is the transport that preceded Streamable HTTP. */
  readonly transport?: HttpTransport
}

export interface ProcessEndpoint {
  readonly command: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface MemoryEndpoint {
  readonly server: McpServer
  /** The user on whose behalf its tools run. */
  readonly identity?: Identity
}

/** Where a server is: at an address, behind a command, or in this process. */
export type Endpoint = HttpEndpoint | ProcessEndpoint | MemoryEndpoint

/** The name of an endpoint in messages: without credentials, query and arguments, which may be secret. */
export function endpointName(endpoint: Endpoint): string {
  if ('command' in endpoint) return endpoint.command
  if ('server' in endpoint) return 'the server in this process'
  const { origin, pathname } = new URL(endpoint.url)
  return `${origin}${pathname}`
}
