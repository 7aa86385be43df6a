export interface LocalServer {
  readonly command: string
  readonly args: readonly string[]
}

export interface RemoteServer {
  readonly url: string
}

/** A server that a user would write into an agent's own file. */
export type OwnServer = LocalServer | RemoteServer

export interface AgentSetting {
  /** Where the scripted model listens. */
  readonly model: string
  /** The user's own servers. */
  readonly servers: Readonly<Record<string, OwnServer>>
}

/** How an agent CLI is set up and started without a person, as its users do. */
export interface AgentCli {
  /** As in packages.json, and as `sallyport run` knows it. */
  readonly id: string
  /** The files below its home, by path: its settings, the model, the user's own servers. */
  files(setting: AgentSetting): Readonly<Record<string, string>>
  /** The file in the folder that it works in with servers of the project, for agents that start those unasked. */
  projectFile?(servers: AgentSetting['servers']): Readonly<Record<string, string>>
  /** The file among those of its home that holds the servers. */
  readonly mcpFile: string
  environment(model: string): Readonly<Record<string, string>>
  /** One run without a person. */
  headless(prompt: string): readonly string[]
  /** What makes it call tools of servers in its own file unasked. */
  readonly unasked?: readonly string[]
  /** How the model sees a tool of the server `gw`. */
  toolName(tool: string): string
  /** The CLI itself writes to its `mcpFile` at each start; then only the servers in it are compared. */
  readonly rewritesFile?: boolean
}

/** Numbered lines are easier to compare in a failure than one long one. */
export const json = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`

/** How an agent writes a server. */
export interface EntryShapes {
  local(server: LocalServer): object
  remote(server: RemoteServer): object
}

export const entryOf = (server: OwnServer, { local, remote }: EntryShapes): object =>
  'url' in server ? remote(server) : local(server)

export function mapServers(servers: AgentSetting['servers'], shapes: EntryShapes): Readonly<Record<string, object>> {
  return Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, entryOf(server, shapes)]))
}
