import { type AgentAdapter, applyAgentMcpFilter, type NativeServer, type OwnFile } from '../../agents/agents.ts'

export interface OwnServers {
  readonly servers: readonly NativeServer[]
  readonly notes: readonly string[]
}

type Selection = readonly string[] | undefined

/** What selections leave of an agent's own servers, each in its own words. Every selection only takes away. */
export function selectOwnServers(
  { toolFilter }: AgentAdapter,
  files: readonly OwnFile[],
  selections: readonly Selection[],
): OwnServers {
  const servers = new Map<string, NativeServer>()
  const notes = new Set<string>()
  for (const { config } of files) {
    let left = config
    for (const selection of selections) {
      const { config: filtered, wrap } = applyAgentMcpFilter(left, selection, { tools: [], toolFilter })
      for (const { name, why } of wrap)
        notes.add(`${name} is left out. ${why} Behind the gateway (without --native) single tools can be selected.`)
      left = filtered
    }
    // Of two servers with one name the later one counts, also when nothing is left of it.
    for (const { name } of config.servers) servers.delete(name)
    for (const server of left.servers) servers.set(server.name, server)
  }
  return { servers: [...servers.values()], notes: [...notes] }
}
