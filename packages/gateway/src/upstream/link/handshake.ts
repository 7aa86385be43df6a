import {
  type Era,
  excerpt,
  isJsonObject,
  type Json,
  type JsonObject,
  LATEST_LEGACY_VERSION,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  SallyportError,
} from '@sallyport/core'
import { parseFrame } from '../answers/parse-frame.ts'
import type { Frame } from '../transport.ts'
import type { Link } from './link.ts'

/** What a server declared about itself in the handshake. */
export interface HandshakeResult {
  readonly era: Era
  readonly protocolVersion: string
  readonly capabilities: JsonObject
  readonly serverInfo: JsonObject
  readonly instructions: string | undefined
}

export interface HandshakeOptions {
  readonly era: 'auto' | Era
  readonly timeout: number
}

/** A server that does not know `server/discover` usually answers so at once; some stay silent. */
const PROBE_TIMEOUT_MS = 2_000
const MAX_QUOTE_LENGTH = 300
const UNSUPPORTED_VERSION = -32022

/** Finds the era of the server and begins the conversation in it. */
export async function performHandshake(link: Link, options: HandshakeOptions): Promise<HandshakeResult> {
  if (options.era === 'legacy') return initialize(link, options)
  if (options.era === 'modern') return discover(link, options.timeout)
  const probed = await discover(link, Math.min(PROBE_TIMEOUT_MS, options.timeout)).catch(ignoreWrongEra)
  if (probed) return probed
  return initialize(link, options).catch(async (refusal: unknown) => {
    ignoreWrongEra(refusal)
    // A modern-only server that starts slowly: the probe came too early for it.
    return discover(link, options.timeout).catch(() => {
      throw refusal
    })
  })
}

/**
 * An error, or no answer at all, only means: try the other era. A lost connection, a missing login or a failing server
 * do not show its era.
 */
function ignoreWrongEra(error: unknown): undefined {
  if (!(error instanceof SallyportError)) throw error
  const passing = ['UPSTREAM_PROTOCOL', 'UPSTREAM_TIMEOUT']
  if (!passing.includes(error.code)) throw error
  return undefined
}

async function discover(link: Link, timeout: number): Promise<HandshakeResult> {
  const ask = (): Promise<Frame> => link.request({ method: 'server/discover', params: {}, timeout, maximum: timeout })
  const first = await ask()
  const result = parseResult(offersOurVersion(first) ? await ask() : first, 'server/discover')
  const versions = Array.isArray(result.supportedVersions) ? result.supportedVersions : []
  if (!versions.includes(MODERN_VERSION)) {
    throw new SallyportError(
      'UPSTREAM_PROTOCOL',
      `The server speaks ${versions.map(quoteValue).join(', ') || 'no version'} and not ${MODERN_VERSION}.`,
    )
  }
  const opened = toHandshakeResult('modern', MODERN_VERSION, result)
  link.completeHandshake('modern', MODERN_VERSION, opened.capabilities)
  return opened
}

/**
 * A client that is refused because of its version must try one that the refusal names, and that may be the same again.
 */
function offersOurVersion(frame: Frame): boolean {
  if (!frame.envelope.error) return false
  const { error } = parseFrame(frame)
  if (!isJsonObject(error) || error.code !== UNSUPPORTED_VERSION || !isJsonObject(error.data)) return false
  const { supported } = error.data
  return Array.isArray(supported) && supported.includes(MODERN_VERSION)
}

async function initialize(link: Link, { timeout }: HandshakeOptions): Promise<HandshakeResult> {
  const { capabilities, clientInfo } = link.identity
  const params = { protocolVersion: LATEST_LEGACY_VERSION, capabilities, clientInfo }
  const result = parseResult(
    await link.request({ method: 'initialize', params, timeout, maximum: timeout }),
    'initialize',
  )
  const version = result.protocolVersion
  if (typeof version !== 'string' || !LEGACY_VERSIONS.includes(version)) {
    throw new SallyportError(
      'UPSTREAM_PROTOCOL',
      `The server requires protocol version ${quoteValue(version)}, which is unknown.`,
      {
        hint: `Known versions are ${LEGACY_VERSIONS.join(', ')} and ${MODERN_VERSION}.`,
      },
    )
  }
  const opened = toHandshakeResult('legacy', version, result)
  link.completeHandshake('legacy', version, opened.capabilities)
  link.notify('notifications/initialized')
  return opened
}

function toHandshakeResult(era: Era, protocolVersion: string, result: JsonObject): HandshakeResult {
  return {
    era,
    protocolVersion,
    capabilities: isJsonObject(result.capabilities) ? result.capabilities : {},
    serverInfo: isJsonObject(result.serverInfo) ? result.serverInfo : {},
    instructions: typeof result.instructions === 'string' ? result.instructions : undefined,
  }
}

/** The parsed result of an answer; an error answer becomes UPSTREAM_PROTOCOL. */
export function parseResult(frame: Frame, method: string, parse = parseFrame): JsonObject {
  const { result } = parse(frame)
  if (isJsonObject(result)) return result
  throw toProtocolError(frame, method)
}

/** The content of an error answer, safe to show. */
export function toProtocolError(frame: Frame, method: string): SallyportError {
  const message = parseFrame(frame)
  const error = isJsonObject(message.error) ? message.error : {}
  return new SallyportError(
    'UPSTREAM_PROTOCOL',
    `The server refused ${method}: ${quoteValue(error.message ?? 'no reason given')} (${quoteValue(error.code ?? '?')}).`,
  )
}

/** Untrusted text is shortened and loses its control characters; values of other types are shown as JSON. */
function quoteValue(value: Json | undefined): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return excerpt(text, MAX_QUOTE_LENGTH)
}
