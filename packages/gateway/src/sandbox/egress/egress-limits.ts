/** What one sandbox may use of the gateway. */
export interface EgressLimits {
  /** Connections outward at a time, including those that are being opened. */
  readonly connections: number
  /** In both directions of one connection. */
  readonly bytesPerConnection: number
  /** Of the first line and the headers of a request or a response. */
  readonly headBytes: number
  /** To look up a name and to connect. */
  readonly connectMs: number
  /** For the headers of a request, and for the rest of a TLS ClientHello that has begun. */
  readonly headMs: number
  /** Without a byte in either direction. */
  readonly idleMs: number
}

export const DEFAULT_EGRESS_LIMITS: EgressLimits = {
  connections: 256,
  bytesPerConnection: 4 * 1024 ** 3,
  headBytes: 32 * 1024,
  connectMs: 20_000,
  headMs: 15_000,
  idleMs: 10 * 60_000,
}
