import { compileSelection, type Selection } from '@sallyport/core'
import type { ServerConfig } from '../config/config.ts'
import { runsDockerGateway } from './meta-tools.ts'

/** What a server's entry leaves of what the server offers. */
export interface ServerRules {
  readonly selection: Selection
  /** What `includeTools` has; of a pattern, the pattern itself. */
  readonly named: ReadonlySet<string>
  /** Whether a Docker MCP Gateway is behind it, which offers tools of another kind besides those of its servers. */
  readonly isDockerGateway: boolean
  /** Where that entry stands; undefined for the gateway's own tools. */
  readonly location: ServerConfig['place'] | undefined
}

const EVERYTHING: ServerRules = {
  selection: () => true,
  named: new Set(),
  isDockerGateway: false,
  location: undefined,
}

/** Compiles the entries of a configuration once, for as long as it is in force. */
export function compileServerRules(entries: () => readonly ServerConfig[]): (server: string) => ServerRules {
  let compiledFrom: readonly ServerConfig[] | undefined
  let rules = new Map<string, ServerRules>()
  return (server) => {
    const now = entries()
    if (now !== compiledFrom) rules = new Map(now.map((entry) => [entry.id, toServerRules(entry)]))
    compiledFrom = now
    return rules.get(server) ?? EVERYTHING
  }
}

function toServerRules(config: ServerConfig): ServerRules {
  const { includeTools, excludeTools, place: location } = config
  const selection = compileSelection(includeTools, excludeTools)
  return { selection, named: new Set(includeTools), isDockerGateway: runsDockerGateway(config), location }
}
