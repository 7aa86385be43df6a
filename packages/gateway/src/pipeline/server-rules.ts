import { compileSelection, type Selection } from '@sallyport/core'
import type { ServerConfig } from '../config/config.ts'

/** What a server's entry leaves of what the server offers. */
export interface ServerRules {
  readonly selection: Selection
  /** Where that entry stands; undefined for the gateway's own tools. */
  readonly place: ServerConfig['place'] | undefined
}

const EVERYTHING: ServerRules = { selection: () => true, place: undefined }

/** Compiles the entries of a configuration once, for as long as it is in force. */
export function serverRules(entries: () => readonly ServerConfig[]): (server: string) => ServerRules {
  let compiledFrom: readonly ServerConfig[] | undefined
  let rules = new Map<string, ServerRules>()
  return (server) => {
    const now = entries()
    if (now !== compiledFrom) rules = new Map(now.map((entry) => [entry.id, rulesOf(entry)]))
    compiledFrom = now
    return rules.get(server) ?? EVERYTHING
  }
}

function rulesOf({ includeTools, excludeTools, place }: ServerConfig): ServerRules {
  return { selection: compileSelection(includeTools, excludeTools), place }
}
