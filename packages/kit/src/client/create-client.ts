import { SallyportError, type Sensitivity } from '@sallyport/core'
import type { FormAnswerer } from '../form.ts'
import type { Identity } from '../identity/identity.ts'
import type { McpServer } from '../mcp-server.ts'
import type { BearerToken, Endpoint, HttpTransport } from './endpoint.ts'
import type { EraChoice } from './link.ts'
import { McpClient } from './mcp-client.ts'
import { openRoute } from './route.ts'
import { SessionLabel, type SharedLabel } from './session-label.ts'

/** The settings of a client, with their defaults. */
export interface ClientOptions {
  /** Sent as the Authorization header, to both instances. A function is asked before every request. */
  readonly bearerToken?: BearerToken
  /** What the session holds, as others know it: a function, or a shared store. */
  readonly label?: SharedLabel | SharedLabel['read']
  /** From which sensitivity on only the isolated instance is asked. Absent: CONFIDENTIAL. */
  readonly privateFrom?: Sensitivity
  /** How long a server may be silent. Absent: a minute. */
  readonly timeoutMs?: number
  /** So many identical failures of a tool in a row are fatal. Absent: 3. */
  readonly maxSameFailures?: number
  /** Absent: found out over HTTP and in memory, `legacy` for processes, some of which end when they are probed. */
  readonly era?: EraChoice
  /** Answers the forms of servers. Absent: the client declares that nobody can be asked. */
  readonly onElicit?: FormAnswerer
  readonly clientInfo?: { readonly name: string; readonly version: string }
}

/** Where the server is: at a URL, behind a command, or in this process; with its isolated instance if it has one. */
export type ClientTarget =
  | {
      readonly url: string
      readonly urlIsolated?: string
      readonly headers?: Readonly<Record<string, string>>
      /** Absent: Streamable HTTP. `sse` is what servers spoke before it. */
      readonly transport?: HttpTransport
    }
  | {
      readonly command: string
      readonly args?: readonly string[]
      readonly env?: Readonly<Record<string, string>>
      readonly cwd?: string
    }
  | { readonly server: McpServer; readonly serverIsolated?: McpServer; readonly identity?: Identity }

const DEFAULT_TIMEOUT_MS = 60_000
const DEFAULT_MAX_SAME_FAILURES = 3
const DEFAULT_CLIENT_INFO = { name: 'sallyport-kit', version: '0.1.0' }

/** Opens a strict client; with an isolated instance, one that holds both connections. */
export async function createMcpClient(options: ClientTarget & ClientOptions): Promise<McpClient> {
  const {
    timeoutMs = DEFAULT_TIMEOUT_MS,
    maxSameFailures = DEFAULT_MAX_SAME_FAILURES,
    clientInfo = DEFAULT_CLIENT_INFO,
    onElicit,
  } = options
  assertPositive('timeoutMs', timeoutMs)
  assertPositive('maxSameFailures', maxSameFailures)
  const { endpoint, isolated } = resolveEndpoints(options)
  const shared = typeof options.label === 'function' ? { read: options.label } : options.label
  const label = new SessionLabel({ shared, privateFrom: options.privateFrom, timeoutMs })
  const era = options.era ?? (isLegacyOnly(options) ? 'legacy' : 'auto')
  const route = await openRoute({ endpoint, isolated, label, link: { clientInfo, era, timeoutMs, onElicit } })
  return new McpClient({ route, label, maxSameFailures })
}

/** Some processes end when they are probed, and the SSE transport has carried nothing but the legacy era. */
const isLegacyOnly = (target: ClientTarget): boolean =>
  'command' in target || ('url' in target && target.transport === 'sse')

function resolveEndpoints(options: ClientTarget & ClientOptions): {
  readonly endpoint: Endpoint
  readonly isolated: Endpoint | undefined
} {
  const { bearerToken } = options
  if ('url' in options) {
    const { url, urlIsolated, headers = {}, transport } = options
    const rest = {
      headers,
      ...(transport !== undefined && { transport }),
      ...(bearerToken !== undefined && { bearerToken }),
    }
    assertHttpUrl('url', url)
    if (urlIsolated === undefined) return { endpoint: { url, ...rest }, isolated: undefined }
    assertHttpUrl('urlIsolated', urlIsolated)
    assertDistinct(new URL(url).href !== new URL(urlIsolated).href)
    return { endpoint: { url, ...rest }, isolated: { url: urlIsolated, ...rest } }
  }
  if (bearerToken !== undefined)
    throw new SallyportError('USAGE', 'A bearerToken was given for a server that is not reached over HTTP.', {
      hint: 'Give a process its credentials in `env`.',
    })
  if ('command' in options) return { endpoint: options, isolated: undefined }
  const { server, serverIsolated, identity } = options
  assertDistinct(server !== serverIsolated)
  const rest = identity === undefined ? {} : { identity }
  return { endpoint: { server, ...rest }, isolated: serverIsolated && { server: serverIsolated, ...rest } }
}

function assertDistinct(isOther: boolean): void {
  if (isOther) return
  throw new SallyportError('USAGE', 'The isolated instance is the normal one.', {
    hint: 'Give the address of an instance that cannot reach the network, or none.',
  })
}

function assertHttpUrl(name: string, url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    throw new SallyportError('USAGE', `${name} is no address of HTTP.`, { hint: 'Expected http://… or https://….' })
  if (parsed.username === '' && parsed.password === '') return
  throw new SallyportError('USAGE', `${name} holds credentials.`, { hint: 'Give a bearerToken, or a header.' })
}

function assertPositive(name: string, value: number): void {
  if (Number.isInteger(value) && value > 0) return
  throw new SallyportError('USAGE', `${name} is ${value}; expected a whole number above 0.`)
}
