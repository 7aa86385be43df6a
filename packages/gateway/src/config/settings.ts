import type {
  ArgumentRules,
  IsolationFields,
  Mode,
  Naming,
  PolicyFields,
  Presets,
  RiskLevel,
  RiskTokens,
} from '@sallyport/core'

/** Where an entry stands, so that errors and `explain` can point at it. */
export interface SourceLocation {
  readonly file: string
  readonly line: number
}

/** How long things may take, in milliseconds. */
export interface Timeouts {
  readonly startup: number
  /** Without progress. Each progress notice starts it anew. */
  readonly call: number
  /** Whatever progress says. */
  readonly callMaximum: number
  /** Stop the server when nobody called it for so long; it comes back on the next call. */
  readonly idle: number | undefined
  /** Ask a server that nobody uses so often whether it is still there. */
  readonly health?: number | undefined
}

interface ServerCommon {
  readonly id: string
  /** The name it was imported under, where that could not be an id. */
  readonly title: string | undefined
  readonly enabled: boolean
  /** Which protocol era to open with; `auto` asks the server. */
  readonly era: 'auto' | 'legacy' | 'modern'
  readonly timeouts: Timeouts
  /** Undefined: all of them. Names or globs. */
  readonly includeTools: readonly string[] | undefined
  readonly excludeTools: readonly string[]
  /** The largest message accepted from it. */
  readonly maxMessageBytes: number
  /** What variables gave to its entry, in every form, longest first: it may be secret and is never shown. */
  readonly fromVariables: readonly string[]
  /** What nothing may show that it says: the credentials that it is given. */
  readonly credentials: readonly string[]
  /** Why it is not started, where its entry has to be corrected first. */
  readonly heldBack?: string | undefined
  /** Whether its tools are isolated: every one, or those that are listed. */
  readonly isolated: boolean
  readonly isolatedTools: readonly string[]
  /** The preset by which results of its tools are shaped, where no entry of tools.yaml names one. */
  readonly result: string | undefined
  /** What it says of its own tools may be believed. */
  readonly trusted: boolean
  readonly place: SourceLocation
}

interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | undefined
}

export interface StdioServerConfig extends ServerCommon, Program {
  readonly kind: 'stdio'
  /** One process for all, or one for each session. */
  readonly per: 'gateway' | 'session'
}

/** `docker mcp gateway run`, or whatever takes its place, with everything but where it listens. */
export interface DockerGatewayConfig extends ServerCommon, Program {
  readonly kind: 'docker-gateway'
  readonly transport: 'stdio' | 'streaming'
  /** Of the streaming transport; undefined: any that is free. */
  readonly port: number | undefined
}

/** A server that is a process of ours. */
export type ProgramServerConfig = StdioServerConfig | DockerGatewayConfig

export interface HttpServerConfig extends ServerCommon {
  /** `sse` is the transport of the 2024-11-05 era. */
  readonly kind: 'http' | 'sse'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export type ServerConfig = ProgramServerConfig | HttpServerConfig

export interface JwtSettings {
  readonly issuers: readonly string[]
  readonly audience: readonly string[]
  /** HS* belong to the secret, all others to the key set; each key has at least one. */
  readonly algorithms: readonly string[]
  readonly jwksUri: string | undefined
  readonly secret: string | undefined
  /** Clock tolerance in seconds. */
  readonly toleranceSeconds: number
  /** How long after its `iat` a token is accepted at most. If missing, until its `exp`. */
  readonly maxAgeSeconds?: number | undefined
}

export interface GatewaySettings {
  readonly host: string
  readonly port: number
  /** The operator has agreed to addresses that other machines can reach. */
  readonly allowRemote: boolean
  readonly naming: Naming
  /** Further values of the Host header that are accepted, besides the loopback names. */
  readonly allowedHosts: readonly string[]
  /** Further origins that browsers may call from, besides our own. */
  readonly allowedOrigins: readonly string[]
  /** How long a first list waits for servers whose tools are not known yet. */
  readonly startupWait: number
  /** How long a gateway without a window of its own outlives the last one that joined it. */
  readonly linger: number
  readonly maxBodyBytes: number
  readonly maxSessions: number
  readonly maxCallsInFlight: number
}

export interface AuditSettings {
  readonly durability: 'process' | 'power'
  /** Refuse calls that cannot be recorded. */
  readonly required: boolean
  /** How much of a call's arguments its record keeps. */
  readonly arguments: 'none' | 'shape' | 'redacted' | 'full'
  /** What is older, or over the size, is removed, whole files at a time. Age in milliseconds. */
  readonly retention: { readonly age: number; readonly bytes: number }
}

/** What follows from a risk, where an entry of tools.yaml does not say it. */
export interface RiskDefaults {
  readonly allowedInModes: readonly Mode[]
  readonly requiresApproval: boolean
}

/** When the mode rises by itself: what happens so often, or so long, within a window. Times in milliseconds. */
export interface EscalationSettings {
  readonly policyViolations: CountTrigger | undefined
  readonly toolErrors: RateTrigger | undefined
  readonly upstreamFlapping: CountTrigger | undefined
  readonly auditFailing: LastingTrigger | undefined
}

export interface CountTrigger {
  readonly count: number
  readonly window: number
  readonly to: Mode
}

export interface RateTrigger {
  /** Of all calls of the window, from 0 to 1. */
  readonly rate: number
  /** Fewer calls than these tell nothing. */
  readonly least: number
  readonly window: number
  readonly to: Mode
}

export interface LastingTrigger {
  /** It has gone on for so long. */
  readonly lasting: number
  readonly to: Mode
}

/** A call that needs no person, though its tool does. All that is said must hold. */
export interface AutoApproval {
  /** Any way to write a tool's name, or a glob over these. */
  readonly tool: string
  readonly agent: string | undefined
  readonly profile: string | undefined
  /** Every path among the arguments is under one of these, and there is at least one. */
  readonly paths: readonly string[] | undefined
  readonly arguments: ArgumentRules | undefined
  readonly place: SourceLocation
}

/** Fields that tools of certain names get, behind what their entries say. */
export interface PolicyPattern {
  /** A glob over canonical names. */
  readonly tool: string
  readonly fields: PolicyFields
  readonly place: SourceLocation
}

export interface GovernanceSettings {
  /** False: what would be refused or asked is recorded and passes. */
  readonly enforce: boolean
  readonly defaults: Readonly<Record<RiskLevel, RiskDefaults>>
  readonly riskTokens: RiskTokens
  readonly patterns: readonly PolicyPattern[]
  readonly approvalTimeout: number
  readonly autoApprove: readonly AutoApproval[]
  /** Where requests for approval are sent, signed with the secret. */
  readonly approvalHook: { readonly url: string; readonly secret: string } | undefined
  readonly escalation: EscalationSettings
}

export interface TelemetrySettings {
  /** Undefined: OpenTelemetry is off. */
  readonly otlp: { readonly endpoint: string; readonly headers: Readonly<Record<string, string>> } | undefined
  /** Whether /metrics answers. */
  readonly prometheus: boolean
}

export interface ModelSettings {
  readonly provider: 'anthropic' | 'openai' | 'google' | 'openai-compatible'
  /** Undefined: a fast and cheap one of the provider. */
  readonly name: string | undefined
  /** Undefined: the provider's own. */
  readonly baseUrl: string | undefined
  readonly apiKey: string | undefined
  /** Absolute; read when the model is first asked. */
  readonly apiKeyFile?: string | undefined
}

/** How isolated calls run where nothing nearer says it. Times in milliseconds. */
export interface IsolationSettings
  extends Required<Omit<IsolationFields, 'returns' | 'strategy'>>,
    // Without a strategy: the sub-agent where there is a model, else a bounded result.
    Pick<IsolationFields, 'returns' | 'strategy'> {
  /** `auto`: the provider if a model is configured, else none. */
  readonly engine: 'auto' | 'none' | 'provider'
  readonly model: ModelSettings | undefined
}

/** What is said otherwise of the built-in sub-agent that runs isolated calls. */
export interface ExecutorSettings extends Pick<IsolationFields, 'maxTokens' | 'maxTurns' | 'maxTime'> {
  readonly enabled: boolean
  readonly description?: string
  readonly model?: ModelSettings
  readonly systemPrompt?: string
  readonly query?: string
}

/** How much of a result reaches the context of its caller. */
export interface ContextSettings {
  /** Characters of a text; undefined: as many as it has. */
  readonly cap: number | undefined
  readonly presets: Presets
  /** How long whole results are kept, and how many bytes of them for each session. Age in milliseconds. */
  readonly retention: { readonly age: number; readonly bytes: number }
}

export interface ProfileSettings {
  /** A slug. */
  readonly agent: string
  /** As it is written. */
  readonly variant: string
  /** Whether the person in front of the client may approve its calls. Undefined: where `run` started it in a terminal. */
  readonly clientApproval?: boolean
  /** Undefined: all tools. */
  readonly selectedMcpTools?: readonly string[]
  /** The selection is the one that stands beside the variants of its agent, for all that have none of their own. */
  readonly inheritsSelection?: true
  readonly title?: string
  /** How many tokens the definitions of its tools should not exceed. */
  readonly tokenBudget?: number
  /** The session in which its launches work, unless they name another. */
  readonly session?: string
  /** Where the selection stands; where there is none, the variant. */
  readonly place: SourceLocation
}

/** By agent and variant: `claude-code.reviewer`. An agent that the file names has a `default`, whether or not it stands there. */
export type Profiles = ReadonlyMap<string, ProfileSettings>

/** config.yaml, validated, with every default filled in and every variable expanded. */
export interface Settings {
  readonly gateway: GatewaySettings
  readonly jwt: JwtSettings | undefined
  readonly audit: AuditSettings
  readonly governance: GovernanceSettings
  readonly telemetry: TelemetrySettings
  readonly isolation: IsolationSettings
  readonly executor: ExecutorSettings
  readonly context: ContextSettings
  /** Of profiles.json. */
  readonly profiles: Profiles
  /** In the order of the file. */
  readonly servers: readonly ServerConfig[]
}
