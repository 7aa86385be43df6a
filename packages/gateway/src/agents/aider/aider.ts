import type { AgentAdapter } from '../agent-adapter.ts'
import { UNKNOWN_RESULTS } from '../create-adapter.ts'

/** Aider does not support MCP: there is nothing to read, and nothing is reported as missing (AG-5). */
export const aider: AgentAdapter = {
  id: 'aider',
  title: 'Aider',
  aliases: [],
  supportsMcp: false,
  program: 'aider',
  enforcement: { level: 'none', text: 'It uses no MCP servers.' },
  results: UNKNOWN_RESULTS,
  toolFilter: undefined,
  defaultMcpConfigPath: () => undefined,
  nativeFiles: () => [],
  getMcpConfig: () => ({ servers: [], document: {}, serversPath: [], builtInNames: [], problems: [] }),
  toServer: () => ({ ok: false, why: 'Aider uses no MCP servers.' }),
  filterAvailableMcpTools: (config) => ({ config, wrap: [], unmatched: [] }),
}
