import type { Naming } from '@sallyport/core'

/** Where an entry stands, so that errors and `explain` can point at it. */
export interface Place {
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
  readonly place: Place
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
}

/** config.yaml, validated, with every default filled in and every variable expanded. */
export interface Settings {
  readonly gateway: GatewaySettings
  readonly jwt: JwtSettings | undefined
  readonly audit: AuditSettings
  /** In the order of the file. */
  readonly servers: readonly ServerConfig[]
}
