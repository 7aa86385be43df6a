import type {
  ArgumentRules,
  HostAndPort,
  HostRule,
  IsolationFields,
  Mode,
  Naming,
  PolicyFields,
  Presets,
  RiskLevel,
  RiskTokens,
  Sensitivity,
  SensitivityRule,
} from '@sallyport/core'

/** Where an entry is defined, so that errors and `explain` can point at it. */
export interface SourceLocation {
  readonly file: string
  readonly line: number
}

/** Timeouts in milliseconds. */
export interface Timeouts {
  readonly startup: number
  /** How long a call may go without progress: each progress notification restarts it. */
  readonly call: number
  /** How long a call may take in total, with or without progress. */
  readonly callMaximum: number
  /** Stop the server after this long without a call. The next call starts it again. */
  readonly idle: number | undefined
  /** How often an idle server is asked whether it is still alive. */
  readonly health?: number | undefined
}

interface ServerCommon {
  readonly id: string
  /** The original name, if it could not be used as an id. */
  readonly title: string | undefined
  readonly enabled: boolean
  /** Which protocol era to start with; `auto` asks the server. */
  readonly era: 'auto' | 'legacy' | 'modern'
  readonly timeouts: Timeouts
  /** Names or globs. Undefined: all tools. */
  readonly includeTools: readonly string[] | undefined
  readonly excludeTools: readonly string[]
  /** The largest message that is accepted from the server. */
  readonly maxMessageBytes: number
  /** Values that came from variables, in every encoded form, longest first. They may be secret and are never shown. */
  readonly fromVariables: readonly string[]
  /** The credentials that the server receives. They are removed from everything that it sends. */
  readonly credentials: readonly string[]
  /** Why the server is not started, if its entry must be corrected first. */
  readonly heldBack?: string | undefined
  /** Whether all tools are isolated; otherwise only those in `isolatedTools`. */
  readonly isolated: boolean
  readonly isolatedTools: readonly string[]
  /** The preset for shaping results, unless an entry in tools.yaml names another. */
  readonly result: string | undefined
  /** Whether the server's annotations of its own tools are trusted. */
  readonly trusted: boolean
  /** How sensitive its data is. Undefined: only its tools' entries say it. */
  readonly sensitivity?: SensitivityRule | undefined
  /** Whether the server is told who calls, if it declares that it can verify that. */
  readonly identity?: 'forward' | undefined
  readonly location: SourceLocation
}

interface Program {
  /** Empty for the own program of a container image. */
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | undefined
}

/** Ways of isolating a program; `auto` takes the first that works. */
export type SandboxDriverName = 'auto' | 'bubblewrap' | 'docker' | 'podman'

/** What every program gets unless its entry says otherwise. */
export interface SandboxDefault {
  readonly isolates: boolean
  /** What `auto` means. */
  readonly driver: SandboxDriverName
}

/** How a server is kept from the machine and the network. */
export interface ServerSandbox {
  /** `none`: not at all, although `sandbox.default` asks for it. It runs only as long as its session is not private. */
  readonly driver: SandboxDriverName | 'none'
  /** The container image that the program is in; `undefined`: it is on this machine. */
  readonly image?: string | undefined
  /**
   * `brokered`: what the label of the session allows, by the egress proxy. `host`: the same, but the network of this
   * machine in mode FULL. `none`: nothing, ever.
   */
  readonly network: 'brokered' | 'host' | 'none'
  /** Files and folders that the server may see: `host`, `host:guest`, with `:rw` to write. */
  readonly mounts: readonly string[]
  /** Ports inside that lead to a host outside, under the same rules as everything that leaves. */
  readonly forwards?: readonly (HostAndPort & { readonly listen: number })[] | undefined
  /** Other limits than those of all sandboxes. */
  readonly limits?: Partial<ProcessLimits> | undefined
}

/** What one process of a server and everything that it starts may use. */
export interface ProcessLimits {
  /** In bytes. */
  readonly memory: number
  /** Processes and threads together. */
  readonly processes: number
  /** Of the private files in /tmp, in bytes. */
  readonly temporaryFiles: number
}

export interface SandboxSettings {
  /** Where the workspaces of sessions are. On disk they are not encrypted. */
  readonly workspaces: 'memory' | 'disk'
  readonly limits: ProcessLimits & {
    /** Of the files of one session in /workspace, in bytes. */
    readonly workspace: number
  }
}

export interface StdioServerConfig extends ServerCommon, Program {
  readonly kind: 'stdio'
  /** One process for the whole gateway, or one for each session. */
  readonly per: 'gateway' | 'session'
  readonly sandbox?: ServerSandbox | undefined
}

/** `docker mcp gateway run`, or a replacement for it, with all options except the one for the port. */
export interface DockerGatewayConfig extends ServerCommon, Program {
  readonly kind: 'docker-gateway'
  readonly transport: 'stdio' | 'streaming'
  /** Only for the streaming transport. Undefined: any free port. */
  readonly port: number | undefined
}

/** A server that the gateway starts as a process. */
export type ProgramServerConfig = StdioServerConfig | DockerGatewayConfig

export interface HttpServerConfig extends ServerCommon {
  /** `sse` is the transport of the 2024-11-05 era. */
  readonly kind: 'http' | 'sse'
  readonly url: string
  /** The address of the isolated instance of the same server, if there is one. */
  readonly urlIsolated?: string
  readonly headers: Readonly<Record<string, string>>
}

export type ServerConfig = ProgramServerConfig | HttpServerConfig

/** The container image that a program is in; `undefined`: it is on this machine. */
export const imageOf = (config: ProgramServerConfig): string | undefined =>
  config.kind === 'stdio' ? config.sandbox?.image : undefined

export interface JwtSettings {
  readonly issuers: readonly string[]
  readonly audience: readonly string[]
  /** HS* algorithms use the secret, all others the key set. Each configured key has at least one algorithm. */
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
  /** Whether the operator allows an address that other machines can reach. */
  readonly allowRemote: boolean
  readonly naming: Naming
  /** Accepted values of the Host header, in addition to the loopback names. */
  readonly allowedHosts: readonly string[]
  /** Origins that browsers may call from, in addition to the gateway's own. */
  readonly allowedOrigins: readonly string[]
  /** How long the first list waits for servers whose tools are not known yet. */
  readonly startupWait: number
  /** How long a gateway that was started in the background keeps running after its last client left. */
  readonly linger: number
  readonly maxBodyBytes: number
  readonly maxSessions: number
  readonly maxCallsInFlight: number
}

export interface AuditSettings {
  readonly durability: 'process' | 'power'
  /** Whether calls that cannot be recorded are refused. */
  readonly required: boolean
  /** How much of a call's arguments is recorded. */
  readonly arguments: 'none' | 'shape' | 'redacted' | 'full'
  /** Records that are older, or beyond this size, are removed one whole file at a time. Age in milliseconds. */
  readonly retention: { readonly age: number; readonly bytes: number }
}

/** Defaults for a risk level, used where an entry in tools.yaml sets nothing else. */
export interface RiskDefaults {
  readonly allowedInModes: readonly Mode[]
  readonly requiresApproval: boolean
}

/** When the gateway makes the mode stricter by itself. Times in milliseconds. */
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
  /** The share of failed calls within the window, from 0 to 1. */
  readonly rate: number
  /** The trigger is ignored while there are fewer calls than this. */
  readonly least: number
  readonly window: number
  readonly to: Mode
}

export interface LastingTrigger {
  /** How long the failure must last. */
  readonly lasting: number
  readonly to: Mode
}

/** Calls that need no approval although their tool does. Every condition that is set must be met. */
export interface AutoApproval {
  /** A tool name in any accepted form, or a glob. */
  readonly tool: string
  readonly agent: string | undefined
  readonly profile: string | undefined
  /** The arguments contain at least one path, and every path is under one of these. */
  readonly paths: readonly string[] | undefined
  readonly arguments: ArgumentRules | undefined
  readonly location: SourceLocation
}

/** Fields for all tools whose names match. Entries of tools.yaml take precedence. */
export interface PolicyPattern {
  /** A glob over canonical names. */
  readonly tool: string
  readonly fields: PolicyFields
  readonly location: SourceLocation
}

export interface GovernanceSettings {
  /** False: calls that would be refused or held for approval are recorded and pass. */
  readonly enforce: boolean
  readonly defaults: Readonly<Record<RiskLevel, RiskDefaults>>
  readonly riskTokens: RiskTokens
  readonly patterns: readonly PolicyPattern[]
  readonly approvalTimeout: number
  readonly autoApprove: readonly AutoApproval[]
  /** Where approval requests are sent, signed with the secret. */
  readonly approvalHook: { readonly url: string; readonly secret: string } | undefined
  readonly escalation: EscalationSettings
}

export interface TelemetrySettings {
  /** Undefined: OpenTelemetry is off. */
  readonly otlp: { readonly endpoint: string; readonly headers: Readonly<Record<string, string>> } | undefined
  /** Whether /metrics is served. */
  readonly prometheus: boolean
}

export interface ModelSettings {
  readonly provider: 'anthropic' | 'openai' | 'google' | 'openai-compatible'
  /** Undefined: a fast and cheap model of the provider. */
  readonly name: string | undefined
  /** Undefined: the provider's own address. */
  readonly baseUrl: string | undefined
  readonly apiKey: string | undefined
  /** An absolute path. The file is read when the model is first used. */
  readonly apiKeyFile?: string | undefined
}

/** Defaults for isolated calls. Times in milliseconds. */
export interface IsolationSettings
  extends Required<Omit<IsolationFields, 'returns' | 'strategy'>>,
    // Without a strategy: the sub-agent if a model is configured, else a bounded result.
    Pick<IsolationFields, 'returns' | 'strategy'> {
  /** `auto`: the provider if a model is configured, else none. */
  readonly engine: 'auto' | 'none' | 'provider'
  readonly model: ModelSettings | undefined
}

/** Overrides for the built-in sub-agent that runs isolated calls. */
export interface ExecutorSettings extends Pick<IsolationFields, 'maxTokens' | 'maxTurns' | 'maxTime'> {
  readonly enabled: boolean
  readonly description?: string
  readonly model?: ModelSettings
  readonly systemPrompt?: string
  readonly query?: string
}

/** When a session holds private data, and what it may still reach then. */
export interface LabelSettings {
  /** From this sensitivity on, a session is private. */
  readonly privateFrom: Sensitivity
  /** Whether sessions also remember that they have read text of servers that are not trusted. */
  readonly untrusted: boolean
  /** What is searched for in results; a hit raises the label. */
  readonly detect: readonly ('secrets' | 'pii')[]
  /** Hosts that a session may reach with CONFIDENTIAL data. */
  readonly allow: readonly HostRule[]
}

/** How much of a result reaches the context of its caller. */
export interface ContextSettings {
  /**
   * The maximum length of a text in characters, for every caller. Undefined: no limit. `auto`: the limit of each known
   * agent, and none for other callers.
   */
  readonly cap: number | 'auto' | undefined
  readonly presets: Presets
  /** How long complete results are retained, and how many bytes of them per session. Age in milliseconds. */
  readonly retention: { readonly age: number; readonly bytes: number }
}

export interface ProfileSettings {
  /** The slug of the agent. */
  readonly agent: string
  /** As written in the file. */
  readonly variant: string
  /** Whether the user of the client may approve its calls. Undefined: only if `run` started the client in a terminal. */
  readonly clientApproval?: boolean
  /** Undefined: all tools. */
  readonly selectedMcpTools?: readonly string[]
  /** The selection is defined for the agent, for all variants that have none of their own. */
  readonly inheritsSelection?: true
  readonly title?: string
  /** The maximum number of tokens that the tool definitions should take. */
  readonly tokenBudget?: number
  /** The session of its launches, unless a launch names another one. */
  readonly session?: string
  /** Where the selection is defined; if there is none, where the variant is. */
  readonly location: SourceLocation
}

/** By agent and variant: `claude-code.reviewer`. Every agent in the file has a `default`, even if it is not written there. */
export type Profiles = ReadonlyMap<string, ProfileSettings>

/** config.yaml after validation, with all defaults filled in and all variables expanded. */
export interface Settings {
  readonly gateway: GatewaySettings
  readonly jwt: JwtSettings | undefined
  readonly audit: AuditSettings
  readonly governance: GovernanceSettings
  readonly telemetry: TelemetrySettings
  readonly isolation: IsolationSettings
  readonly executor: ExecutorSettings
  readonly context: ContextSettings
  readonly labels: LabelSettings
  readonly sandbox: SandboxSettings
  /** From profiles.json. */
  readonly profiles: Profiles
  /** In the order of the file. */
  readonly servers: readonly ServerConfig[]
}
