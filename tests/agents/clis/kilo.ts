import type { AgentCli } from '../agent-cli.ts'
import { opencodeConfig } from './opencode.ts'

export const kilo: AgentCli = {
  id: 'kilo',
  mcpFile: '.config/kilo/kilo.json',
  files: (setting) => ({ '.config/kilo/kilo.json': opencodeConfig(setting) }),
  environment: () => ({ KILO_DISABLE_AUTOUPDATE: '1', KILO_DISABLE_MODELS_FETCH: '1' }),
  headless: (prompt) => ['run', prompt],
  toolName: (tool) => `gw_${tool}`,
}
