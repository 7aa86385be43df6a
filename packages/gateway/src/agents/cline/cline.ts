import { homePath, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import {
  args,
  callTimeoutSeconds,
  command,
  cwd,
  disabled,
  env,
  excludeTools,
  headers,
  omitWithNote,
  sseUrl,
  type,
} from '../entry-keys.ts'
import { EDITOR } from '../variable-syntax.ts'

const APPROVALS = omitWithNote('define in tools.yaml which tools need approval.')

export const cline = createAdapter({
  id: 'cline',
  title: 'Cline',
  program: 'cline',
  syntax: 'json',
  files: (host) => [userFile(homePath(host, '.cline', 'data', 'settings', 'cline_mcp_settings.json'))],
  serversPath: () => ['mcpServers'],
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
      timeout: callTimeoutSeconds,
      disabledTools: excludeTools,
      autoApprove: APPROVALS,
      alwaysAllow: APPROVALS,
    },
  },
  results: { maxCharacters: 7_800, needsStructure: false, clientNames: ['@cline/core'] },
  enforcement: {
    level: 'strict',
    text: 'Only our server: --data-dir and CLINE_MCP_SETTINGS_PATH give it separate settings for the run.',
  },
})
