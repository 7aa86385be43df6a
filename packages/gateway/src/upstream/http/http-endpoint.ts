import { SallyportError } from '@sallyport/core'
import type { Pool } from 'undici'
import { type HttpServerConfig, isTransportHeader, secretsOf } from '../../config/config.ts'
import type { Peer } from './http-failure.ts'
import { urlRefusal } from './url-policy.ts'

/** Calls may all wait on an answer of ours to a question of the server, so those answers need connections of their own. */
export type Lane = 'calls' | 'side'

const CONNECTIONS = { calls: 128, side: 32 } as const

/** All of undici is a hundred files, most of them for `fetch`: to load them takes three times as long as to load what we use. */
const POOL_FILE: string = 'undici/lib/dispatcher/pool.js'

/** Where a server is, what to say to it on every request, and the connections to it. */
export class HttpEndpoint {
  readonly peer: Peer
  readonly url: URL
  readonly path: string
  readonly headers: readonly string[]
  readonly maxMessageBytes: number
  /** What must not be shown, whoever says it. */
  readonly secrets: readonly string[]
  readonly #pools: Readonly<Record<Lane, Pool>>

  constructor(config: HttpServerConfig, pools: (origin: string) => Readonly<Record<Lane, Pool>>) {
    this.url = endpointUrl(config)
    this.path = this.url.pathname + this.url.search
    this.peer = { server: config.id, origin: this.url.origin }
    this.maxMessageBytes = config.maxMessageBytes
    this.headers = ownHeaders(config)
    this.secrets = secretsOf(config)
    this.#pools = pools(this.url.origin)
  }

  pool(lane: Lane): Pool {
    return this.#pools[lane]
  }

  async close(): Promise<void> {
    await Promise.all([this.#pools.calls.destroy(), this.#pools.side.destroy()])
  }
}

export async function openHttpEndpoint(config: HttpServerConfig): Promise<HttpEndpoint> {
  // Who has no HTTP server never pays for it.
  const { default: ConnectionPool } = (await import(POOL_FILE)) as { default: typeof Pool }
  // The caller times calls; a stream may be silent for as long as it likes.
  const open = (origin: string, lane: Lane): Pool =>
    new ConnectionPool(origin, { connections: CONNECTIONS[lane], pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  return new HttpEndpoint(config, (origin) => ({ calls: open(origin, 'calls'), side: open(origin, 'side') }))
}

function endpointUrl(config: HttpServerConfig): URL {
  const url = URL.canParse(config.url) ? new URL(config.url) : undefined
  const refusal = url === undefined ? 'it is no URL' : urlRefusal(url)
  if (url !== undefined && refusal === undefined) return url
  throw new SallyportError('CONFIG_INVALID', `The url of "${config.id}" cannot be used: ${refusal}.`, {
    hint: `Write it as https://host/path (${config.place.file}:${config.place.line}).`,
  })
}

function ownHeaders(config: HttpServerConfig): readonly string[] {
  const headers = new Map<string, string>([['user-agent', 'sallyport']])
  for (const [name, value] of Object.entries(config.headers)) {
    if (!isTransportHeader(name)) headers.set(name.toLowerCase(), checkedValue(config, name, value))
  }
  return [...headers].flat()
}

/** A token that came from a file or a variable often brings its line break along. */
function checkedValue(config: HttpServerConfig, name: string, value: string): string {
  const trimmed = value.trim()
  if (/^[!#$%&'*+.^_`|~\w-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(trimmed)) return trimmed
  throw new SallyportError('CONFIG_INVALID', `The header "${name}" of "${config.id}" is no HTTP header.`, {
    hint: `Its name must be a token and its value one line of plain text (${config.place.file}:${config.place.line}).`,
  })
}
