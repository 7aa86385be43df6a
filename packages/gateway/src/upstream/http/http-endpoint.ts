import { connect, isIP } from 'node:net'
import { SallyportError } from '@sallyport/core'
import { collectSecrets, type HttpServerConfig, isTransportHeader } from '../../config/config.ts'
import { ConnectionPool, type ConnectionPoolOptions } from './connection-pool.ts'
import type { Peer } from './http-failure.ts'
import { checkUrl } from './url-policy.ts'

/** All calls may wait for our answer to a question of the server, so those answers need connections of their own. */
export type Lane = 'calls' | 'side'

/** A stream may be silent for hours while its other end is gone. */
const SOCKET_OPTIONS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 60_000 } as const

const MAX_CONNECTIONS = { calls: 128, side: 32 } as const

/** The address of a server, the headers of every request, and the connections to it. */
export class HttpEndpoint {
  readonly peer: Peer
  readonly url: URL
  readonly path: string
  readonly headers: readonly string[]
  readonly maxMessageBytes: number
  /** Secrets that must not be shown, whoever writes them. */
  readonly secrets: readonly string[]
  readonly #pools: Readonly<Record<Lane, ConnectionPool>>

  constructor(config: HttpServerConfig, pools: Readonly<Record<Lane, ConnectionPool>>) {
    this.url = parseEndpointUrl(config)
    this.path = this.url.pathname + this.url.search
    this.peer = { server: config.id, origin: this.url.origin }
    this.maxMessageBytes = config.maxMessageBytes
    this.headers = buildHeaders(config)
    this.secrets = collectSecrets(config)
    this.#pools = pools
  }

  pool(lane: Lane): ConnectionPool {
    return this.#pools[lane]
  }

  async close(): Promise<void> {
    this.#pools.calls.close()
    this.#pools.side.close()
  }
}

export async function openHttpEndpoint(config: HttpServerConfig): Promise<HttpEndpoint> {
  const url = parseEndpointUrl(config)
  const dial = url.protocol === 'https:' ? await createTlsDialer(url) : createTcpDialer(url)
  const open = (lane: Lane): ConnectionPool => new ConnectionPool({ ...dial, maxConnections: MAX_CONNECTIONS[lane] })
  return new HttpEndpoint(config, { calls: open('calls'), side: open('side') })
}

type Dialer = Pick<ConnectionPoolOptions, 'connect' | 'connected'>

function socketAddress({ hostname, port, protocol }: URL) {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return { host, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port), ...SOCKET_OPTIONS }
}

function createTcpDialer(url: URL): Dialer {
  const place = socketAddress(url)
  return { connect: () => connect(place), connected: 'connect' }
}

/** TLS is loaded only for a server that needs it. A TLS session of a server makes its next connection cheaper. */
async function createTlsDialer(url: URL): Promise<Dialer> {
  const { connect: connectSecurely } = await import('node:tls')
  const place = socketAddress(url)
  const name = isIP(place.host) ? {} : { servername: place.host }
  let session: Buffer | undefined
  const dial = () => {
    const socket = connectSecurely({ ...place, ...name, ALPNProtocols: ['http/1.1'], ...(session && { session }) })
    return socket.on('session', (given: Buffer) => {
      session = given
    })
  }
  return { connect: dial, connected: 'secureConnect' }
}

function parseEndpointUrl(config: HttpServerConfig): URL {
  const url = URL.canParse(config.url) ? new URL(config.url) : undefined
  const refusal = url === undefined ? 'it is not a valid URL' : checkUrl(url)
  if (url !== undefined && refusal === undefined) return url
  throw new SallyportError('CONFIG_INVALID', `The url of "${config.id}" cannot be used: ${refusal}.`, {
    hint: `Write it as https://host/path (${config.location.file}:${config.location.line}).`,
  })
}

function buildHeaders(config: HttpServerConfig): readonly string[] {
  const headers = new Map<string, string>([['user-agent', 'sallyport']])
  for (const [name, value] of Object.entries(config.headers)) {
    if (!isTransportHeader(name)) headers.set(name.toLowerCase(), checkHeaderValue(config, name, value))
  }
  return [...headers].flat()
}

/** A token from a file or a variable often ends with a line break. */
function checkHeaderValue(config: HttpServerConfig, name: string, value: string): string {
  const trimmed = value.trim()
  if (/^[!#$%&'*+.^_`|~\w-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(trimmed)) return trimmed
  throw new SallyportError('CONFIG_INVALID', `The header "${name}" of "${config.id}" is not a valid HTTP header.`, {
    hint: `Its name must be a token and its value one line of plain text (${config.location.file}:${config.location.line}).`,
  })
}
