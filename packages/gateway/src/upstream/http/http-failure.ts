import { cutText, MAY_HAVE_RUN_HINT, maskSecrets, SallyportError, toVisibleText } from '@sallyport/core'
import { isBrokenHttp } from './connection-failure.ts'

/** The server that a failure is about, by names that may be shown: never its whole URL, which may contain a key. */
export interface Peer {
  readonly server: string
  readonly origin: string
}

const HINTS: readonly (readonly [codes: RegExp, what: string, hint: string])[] = [
  [/^ECONNREFUSED$/, 'refused the connection', 'Start the server, or correct its url'],
  [
    /^(ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/,
    'could not be found by name',
    'Check the host name in its url, and the network',
  ],
  [/TIMEOUT|^ETIMEDOUT$/, 'did not accept a connection in time', 'Check that it runs and that no firewall is between'],
  [/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/, 'cannot be reached from here', 'Check the network and its url'],
  [
    /CERT|^UNABLE_TO_|^ERR_TLS|^ERR_SSL|^EPROTO$|HOSTNAME_MISMATCH/,
    'could not be trusted (TLS)',
    'Check its certificate and whether the url should begin with http:// or https://; for an authority of your own set NODE_EXTRA_CA_CERTS',
  ],
]

/** A request without an answer because of the network. `reach`: whether the server may have seen it. */
export function networkFailure(cause: Error, peer: Peer, reach: 'sent' | 'unsent'): SallyportError {
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
  if (reach === 'unsent') return unreachable(cause, code, peer)
  if (isBrokenHttp(cause)) {
    const hint = `Check that the url of "${peer.server}" leads to an MCP server.`
    return new SallyportError('UPSTREAM_PROTOCOL', `${peer.origin} answered with broken HTTP (${cause.message}).`, {
      hint,
      cause,
    })
  }
  return new SallyportError('UPSTREAM_DIED', `${peer.origin} closed the connection before its answer (${code}).`, {
    hint: MAY_HAVE_RUN_HINT,
    cause,
  })
}

function unreachable(cause: Error, code: string, { server, origin }: Peer): SallyportError {
  const known = HINTS.find(([codes]) => codes.test(code))
  const what = known?.[1] ?? 'could not be connected to'
  const hint = `${known?.[2] ?? 'Check its url'} ("${server}" in config.yaml).`
  return new SallyportError('UPSTREAM_UNAVAILABLE', `${origin} ${what} (${code}).`, { hint, cause })
}

/** An HTTP status instead of an answer. `body` is the beginning of the body, safe to show, or empty. */
export function statusFailure(status: number, peer: Peer, body: string): SallyportError {
  const { server, origin } = peer
  const quote = body === '' ? '' : ` It said: ${body}`
  if (status === 401) {
    return new SallyportError('UPSTREAM_NEEDS_LOGIN', `${origin} requires a login (HTTP 401).`, {
      hint: `Give "${server}" an authorization header under \`headers\` in config.yaml, or renew the one it has.`,
    })
  }
  if (status === 403) {
    return new SallyportError(
      'UPSTREAM_NEEDS_LOGIN',
      `${origin} does not allow this with the given login (HTTP 403).${quote}`,
      {
        hint: `Check what the credentials under \`headers\` of "${server}" may do.`,
      },
    )
  }
  // A proxy in front of the server gave up. It does not say that the server got no request.
  if (status === 502 || status === 504) {
    return new SallyportError(
      'UPSTREAM_FAILED',
      `${origin} did not answer the proxy in front of it (HTTP ${status}).${quote}`,
      {
        hint: MAY_HAVE_RUN_HINT,
      },
    )
  }
  if (status === 429 || status === 503) {
    return new SallyportError('UPSTREAM_UNAVAILABLE', `${origin} is not able to answer now (HTTP ${status}).${quote}`, {
      hint: 'Try again later.',
    })
  }
  // No protocol error: nobody may conclude from it that the server speaks only the legacy era.
  if (status >= 500) {
    return new SallyportError('UPSTREAM_FAILED', `${origin} failed with HTTP ${status}.${quote}`, {
      hint: `See the log of "${server}". If it fails at server/discover only, give it \`era: legacy\` in config.yaml.`,
    })
  }
  return new SallyportError(
    'UPSTREAM_PROTOCOL',
    `${origin} answered with HTTP ${status} instead of a message.${quote}`,
    {
      hint: `Check that the url of "${server}" is the one of its MCP endpoint.`,
    },
  )
}

/** A success whose body is neither JSON nor an event stream: most likely a web page. */
export function unexpectedBody({ server, origin }: Peer, body: string): SallyportError {
  const quote = body === '' ? '' : ` It said: ${body}`
  return new SallyportError('UPSTREAM_PROTOCOL', `${origin} answered with neither JSON nor an event stream.${quote}`, {
    hint: `Check that the url of "${server}" is the one of its MCP endpoint.`,
  })
}

/** `target` is the value of a Location header; only its origin is shown. */
export function redirectFailure(status: number, peer: Peer, target: URL | undefined): SallyportError {
  const where =
    target === undefined ? 'nowhere' : target.origin === peer.origin ? 'another path of its own' : target.origin
  return new SallyportError(
    'UPSTREAM_PROTOCOL',
    `${peer.origin} redirects to ${where} (HTTP ${status}), which is not followed.`,
    {
      hint: `If that is where the server is now, write its new url for "${peer.server}" in config.yaml.`,
    },
  )
}

const MAX_QUOTE_LENGTH = 160

/** The beginning of a body as one short line, without markup and secrets; empty if nothing is left. */
export function quoteBody(body: string, secrets: readonly string[]): string {
  const text = body.replaceAll(/<(script|style)\b.*?(<\/\1>|$)/gis, ' ').replaceAll(/<[^>]*(>|$)/g, ' ')
  const masked = maskSecrets(text.trimEnd(), secrets)
  return cutText(toVisibleText(masked.replaceAll(/\s+/g, ' ').trim()), MAX_QUOTE_LENGTH)
}
