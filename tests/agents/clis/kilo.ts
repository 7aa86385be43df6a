import { type AgentCli, json, mapServers } from '../agent-cli.ts'
import { OPENCODE_SHAPES, opencodeConfig } from './opencode.ts'

export const kilo: AgentCli = {
  id: 'kilo',
  mcpFile: '.config/kilo/kilo.json',
  files: (setting) => ({ '.config/kilo/kilo.json': opencodeConfig(setting) }),
  projectFile: (servers) => ({ 'kilo.json': json({ mcp: mapServers(servers, OPENCODE_SHAPES) }) }),
  environment: () => ({ KILO_DISABLE_AUTOUPDATE: '1', KILO_DISABLE_MODELS_FETCH: '1' }),
  headless: (prompt) => ['run', prompt],
  toolName: (tool) => `gw_${tool}`,
}
