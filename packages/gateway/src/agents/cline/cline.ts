import { inHome, userFile } from '../agent-folders.ts'
import { createAdapter } from '../create-adapter.ts'
import {
  args,
  callSeconds,
  command,
  cwd,
  disabled,
  env,
  excludeTools,
  headers,
  leftOut,
  sseUrl,
  type,
} from '../entry-keys.ts'
import { EDITOR } from '../variable-syntax.ts'

const APPROVALS = leftOut('say in tools.yaml which tools need an approval.')

export const cline = createAdapter({
  id: 'cline',
  title: 'Cline',
  program: 'cline',
  syntax: 'json',
  files: (place) => [userFile(inHome(place, '.cline', 'data', 'settings', 'cline_mcp_settings.json'))],
  serversAt: () => ['mcpServers'],
  toolFilter: { exclude: 'disabledTools' },
  entries: {
    variables: EDITOR,
    keys: {
      type,
      command,
      args,
      env,
      cwd,
      url: sseUrl,
      headers,
      disabled,
      timeout: callSeconds,
      disabledTools: excludeTools,
      autoApprove: APPROVALS,
      alwaysAllow: APPROVALS,
    },
  },
  enforcement: {
    level: 'strict',
    text: 'Only our server: --data-dir and CLINE_MCP_SETTINGS_PATH give it settings of its own for the run.',
  },
})
