import { isJsonObject, type Json, type JsonObject, SallyportError } from '@sallyport/core'
import { parseYamlValue } from '../../config/config.ts'
import type { AgentAdapter, HostContext } from '../agent-adapter.ts'
import { ADAPTERS, findAdapter } from '../registry.ts'
import type { FoundServer } from './found-server.ts'

export interface PastedText {
  readonly text: string
  /** The agent whose format it has; if missing, every format is tried. */
  readonly adapter?: AgentAdapter | undefined
  readonly host: HostContext
  /** The name of a server that is pasted alone, without one. */
  readonly name?: string | undefined
}

/** Finds the servers in pasted text: a file of any agent, a part of one, or a single entry, as JSON, TOML or YAML. */
export function parsePastedServers(pasted: PastedText): readonly FoundServer[] {
  const { adapter, text } = pasted
  const adapters = adapter === undefined ? ADAPTERS.filter(({ supportsMcp }) => supportsMcp) : [adapter]
  for (const one of adapters) {
    const found = readAsFileOf(one, pasted)
    if (found.length > 0) return found
  }
  const value = parseYamlValue(text.trim().replace(/,$/, ''))?.value
  const found = isJsonObject(value) ? readEntries(value, adapter ?? findAdapter('claude-code'), pasted) : []
  if (found.length > 0) return found
  throw new SallyportError('INVALID_PARAMS', 'No server was found in this text.', {
    hint: 'Paste the file of an agent, its part with the servers, or one entry with "command" or "url".',
  })
}

function readAsFileOf(adapter: AgentAdapter, { text, host }: PastedText): readonly FoundServer[] {
  const file = adapter.nativeFiles(host).find(({ scope }) => scope === 'user')
  if (file === undefined) return []
  try {
    const { servers } = adapter.getMcpConfig(text, file)
    return servers.map((native) => toFound(adapter, native.name, native.entry))
  } catch (error) {
    // The text is in another format.
    if (error instanceof SallyportError) return []
    throw error
  }
}

/** Either one entry, or entries by name, perhaps below one key. */
function readEntries(
  value: JsonObject,
  adapter: AgentAdapter,
  { name = 'server' }: PastedText,
): readonly FoundServer[] {
  if (isEntry(value)) return [toFound(adapter, name, value)]
  const entries = Object.entries(value).filter((pair): pair is [string, JsonObject] => isEntry(pair[1]))
  if (entries.length > 0) return entries.map(([one, entry]) => toFound(adapter, one, entry))
  const [inner, ...others] = Object.values(value)
  return isJsonObject(inner) && others.length === 0 ? readEntries(inner, adapter, { name } as PastedText) : []
}

const isEntry = (value: Json | undefined): boolean =>
  isJsonObject(value) && ['command', 'url', 'httpUrl', 'serverUrl'].some((key) => typeof value[key] === 'string')

const toFound = (adapter: AgentAdapter, name: string, entry: JsonObject): FoundServer => ({
  ...{ agent: adapter.id, file: 'pasted text', scope: 'user', name },
  server: adapter.toServer({ name, entry }),
})
