import { SallyportError } from '@sallyport/core'
import { type BearerToken, endpointName, type HttpEndpoint } from './endpoint.ts'

/** RFC 6750: anything else would break the header, or smuggle another one in. */
const TOKEN_PATTERN = /^[\w.~+/-]+=*$/

export interface BearerFetch {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>
  /** A text of the server without the tokens that it may have echoed. */
  readonly redact: (text: string) => string
}

/** Sends requests with the token of the moment, and asks `beforeSend` last of all: it throws where nothing may leave. */
export function createBearerFetch(endpoint: HttpEndpoint, beforeSend: (body: unknown) => void): BearerFetch {
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

/** Short values are words such as "true", and would tear holes into any text. */
const MIN_SECRET_LENGTH = 6

/** A header's value, and what comes after its scheme: servers echo the one as well as the other. */
const listSecrets = (value: string): readonly string[] =>
  [value, value.replace(/^\S+\s+/, '')].filter((secret) => secret.length >= MIN_SECRET_LENGTH)

async function readToken(bearerToken: BearerToken, used: Set<string>): Promise<string> {
  const token = typeof bearerToken === 'string' ? bearerToken : await callTokenProvider(bearerToken)
  if (typeof token !== 'string' || !TOKEN_PATTERN.test(token))
    throw new SallyportError('UNAUTHENTICATED', 'The bearer token is no token; expected letters, digits and -._~+/=.')
  used.add(token)
  if (used.size > MAX_REMEMBERED_TOKENS) used.delete(used.values().next().value ?? '')
  return token
}

const MAX_REMEMBERED_TOKENS = 8

async function callTokenProvider(provider: Exclude<BearerToken, string>): Promise<string> {
  try {
    return await provider()
  } catch (cause) {
    // Its message may hold what it asked with, so it is not repeated in ours.
    throw new SallyportError('UNAUTHENTICATED', 'The function that gives the bearer token failed.', { cause })
  }
}
