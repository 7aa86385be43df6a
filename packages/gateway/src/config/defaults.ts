import { PRESETS, RISK_TOKENS } from '@sallyport/core'
import type {
  AuditSettings,
  ContextSettings,
  EscalationSettings,
  GatewaySettings,
  GovernanceSettings,
  IsolationSettings,
  LabelSettings,
  SandboxSettings,
  Settings,
  TelemetrySettings,
  Timeouts,
} from './settings.ts'

const MEGABYTE = 1024 ** 2
const GIGABYTE = 1024 * MEGABYTE

export const DEFAULT_TIMEOUTS: Timeouts = {
  startup: 30_000,
  call: 60_000,
  callMaximum: 600_000,
  idle: undefined,
  health: 60_000,
}

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

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

export const DEFAULT_AUDIT: AuditSettings = {
  durability: 'process',
  required: true,
  arguments: 'redacted',
  retention: { age: 30 * DAY, bytes: 1024 * MEGABYTE },
}

export const DEFAULT_ESCALATION = {
  policyViolations: { count: 30, window: 10 * MINUTE, to: 'ALERT' },
  toolErrors: { rate: 0.5, least: 50, window: 10 * MINUTE, to: 'DEGRADED' },
  upstreamFlapping: { count: 10, window: 10 * MINUTE, to: 'DEGRADED' },
  auditFailing: { lasting: 30_000, to: 'DEGRADED' },
} as const satisfies EscalationSettings

export const DEFAULT_GOVERNANCE: GovernanceSettings = {
  enforce: true,
  defaults: {
    low: { allowedInModes: ['NORMAL', 'ALERT', 'DEGRADED'], requiresApproval: false },
    medium: { allowedInModes: ['NORMAL', 'DEGRADED'], requiresApproval: false },
    high: { allowedInModes: ['NORMAL'], requiresApproval: true },
  },
  riskTokens: RISK_TOKENS,
  patterns: [],
  approvalTimeout: 5 * MINUTE,
  autoApprove: [],
  approvalHook: undefined,
  escalation: DEFAULT_ESCALATION,
}

export const DEFAULT_TELEMETRY: TelemetrySettings = { otlp: undefined, prometheus: true }

export const DEFAULT_ISOLATION: IsolationSettings = {
  fallback: 'bounded',
  budget: 5_000,
  engine: 'auto',
  model: undefined,
  maxTokens: 2_000,
  maxTurns: 3,
  maxTime: 2 * MINUTE,
  allowRecall: false,
}

export const DEFAULT_CONTEXT: ContextSettings = {
  cap: 'auto',
  presets: PRESETS,
  retention: { age: 7 * DAY, bytes: 1024 * MEGABYTE },
}

export const DEFAULT_LABELS: LabelSettings = { privateFrom: 'CONFIDENTIAL', untrusted: false, detect: [], allow: [] }

export const DEFAULT_SANDBOX: SandboxSettings = {
  workspaces: 'memory',
  limits: { memory: 4 * GIGABYTE, processes: 1_024, temporaryFiles: GIGABYTE, workspace: 256 * MEGABYTE },
}

/** The settings of an empty config file. */
export const DEFAULT_SETTINGS: Settings = {
  gateway: DEFAULT_GATEWAY,
  jwt: undefined,
  audit: DEFAULT_AUDIT,
  governance: DEFAULT_GOVERNANCE,
  telemetry: DEFAULT_TELEMETRY,
  isolation: DEFAULT_ISOLATION,
  executor: { enabled: true },
  context: DEFAULT_CONTEXT,
  labels: DEFAULT_LABELS,
  sandbox: DEFAULT_SANDBOX,
  profiles: new Map(),
  servers: [],
}
