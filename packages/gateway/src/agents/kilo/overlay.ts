import type { AgentOverlay } from '../agent-overlay.ts'
import { createOpencodeOverlay } from '../opencode-overlay.ts'

export const kiloOverlay: AgentOverlay = createOpencodeOverlay({
  title: 'Kilo',
  folder: 'kilo',
  files: ['config', 'config.json', 'kilo.json', 'kilo.jsonc', 'opencode.json', 'opencode.jsonc'],
  homeFolders: ['.kilocode', '.kilo'],
  prefix: 'KILO',
  moreSources: [
    {
      name: 'older files of the project',
      state: 'closed',
      mechanism: '`.kilocode/mcp.json`, `.kilo/mcp.json`: `enabled: false` for each name, by `KILO_CONFIG_CONTENT`',
    },
  ],
})
