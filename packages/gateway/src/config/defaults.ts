import type { AuditSettings, GatewaySettings, Settings, Timeouts } from './settings.ts'

const MEGABYTE = 1024 ** 2

export const DEFAULT_TIMEOUTS: Timeouts = { startup: 30_000, call: 60_000, callMaximum: 600_000, idle: undefined }

export const DEFAULT_MAX_MESSAGE_BYTES = 64 * MEGABYTE

export const DEFAULT_GATEWAY: GatewaySettings = {
  host: '127.0.0.1',
  port: 4747,
  allowRemote: false,
  naming: 'prefixed',
  allowedHosts: [],
  allowedOrigins: [],
  startupWait: 1_000,
  linger: 5_000,
  maxBodyBytes: 8 * MEGABYTE,
  maxSessions: 10_000,
  maxCallsInFlight: 1_024,
}

export const DEFAULT_AUDIT: AuditSettings = { durability: 'process', required: true }

/** What an empty config file means. */
export const DEFAULT_SETTINGS: Settings = {
  gateway: DEFAULT_GATEWAY,
  jwt: undefined,
  audit: DEFAULT_AUDIT,
  servers: [],
}
