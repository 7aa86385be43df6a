import { folderFromVariable, joinPath, projectFile, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import {
  callTimeoutMs,
  disabled,
  enabled,
  excludeTools,
  includeTools,
  SHARED_KEYS,
  startupTimeoutMs,
} from '../entry-keys.ts'
import { NO_VARIABLES } from '../variable-syntax.ts'

export const kimi = createAdapter({
  id: 'kimi',
  title: 'Kimi Code',
  aliases: ['kimi-code'],
  program: 'kimi',
  syntax: 'json',
  files: (host) => [
    userFile(joinPath(host, folderFromVariable(host, 'KIMI_CODE_HOME', '.kimi-code'), 'mcp.json')),
    projectFile(host, '.mcp.json'),
    projectFile(host, '.kimi-code', 'mcp.json'),
  ],
  serversPath: () => ['mcpServers'],
  toolFilter: { include: 'enabledTools', exclude: 'disabledTools' },
  entries: {
    variables: NO_VARIABLES,
    keys: {
      ...SHARED_KEYS,
      enabled,
      disabled,
      enabledTools: includeTools,
      disabledTools: excludeTools,
      startupTimeoutMs: startupTimeoutMs,
      toolTimeoutMs: callTimeoutMs,
    },
  },
  results: { clientNames: ['kimi-code'] },
  enforcement: {
    level: 'strict',
    text: 'Only our server: KIMI_CODE_HOME replaces the user’s file, and it is not started if the project or a plugin names servers.',
  },
})
