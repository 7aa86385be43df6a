import type { AgentOverlay } from '../agent-overlay.ts'
import { createOpencodeOverlay } from '../opencode-overlay.ts'

export const opencodeOverlay: AgentOverlay = createOpencodeOverlay({
  title: 'OpenCode',
  folder: 'opencode',
  files: ['config', 'config.json', 'opencode.json', 'opencode.jsonc'],
  homeFolders: ['.opencode'],
  prefix: 'OPENCODE',
})
