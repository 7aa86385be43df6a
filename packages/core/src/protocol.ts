/** The two eras of MCP: `legacy` has a handshake and sessions, `modern` has neither. */
export type Era = 'legacy' | 'modern'

export const MODERN_VERSION = '2026-07-28'
/** Newest first. */
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
export const LATEST_LEGACY_VERSION = '2025-11-25'

/** From the least to the most severe. */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

/** The level of a log message, as MCP names it. */
export type LogLevel = (typeof LOG_LEVELS)[number]

export const isLogLevel = (value: unknown): value is LogLevel => LOG_LEVELS.includes(value as LogLevel)

/** Keys of `_meta` that the protocol reserves. */
export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
} as const

/** Version ff is invalid, and so are ids that consist of zeros only. */
const TRACEPARENT =
  /^(?!ff)(?<version>[0-9a-f]{2})-(?!0{32})(?<id>[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?<more>-|$)/

/** The trace id of a W3C `traceparent`, or `undefined` if that is invalid. */
export function parseTraceId(traceparent: unknown): string | undefined {
  if (typeof traceparent !== 'string') return undefined
  const { version, id, more } = TRACEPARENT.exec(traceparent)?.groups ?? {}
  // Only future versions may have more fields after the flags.
  return version === '00' && more === '-' ? undefined : id
}
