import { joinPath, namedFolder, projectFile, userFile } from '../agent-folders.ts'
import { createAdapter } from '../create-adapter.ts'
import {
  callMilliseconds,
  disabled,
  enabled,
  excludeTools,
  includeTools,
  PLAIN_KEYS,
  startupMilliseconds,
} from '../entry-keys.ts'
import { NO_VARIABLES } from '../variable-syntax.ts'

export const kimi = createAdapter({
  id: 'kimi',
  title: 'Kimi Code',
  aliases: ['kimi-code'],
  program: 'kimi',
  syntax: 'json',
  files: (place) => [
    userFile(joinPath(place, namedFolder(place, 'KIMI_CODE_HOME', '.kimi-code'), 'mcp.json')),
    projectFile(place, '.mcp.json'),
    projectFile(place, '.kimi-code', 'mcp.json'),
  ],
  serversAt: () => ['mcpServers'],
  toolFilter: { include: 'enabledTools', exclude: 'disabledTools' },
  entries: {
    variables: NO_VARIABLES,
    keys: {
      ...PLAIN_KEYS,
      enabled,
      disabled,
      enabledTools: includeTools,
      disabledTools: excludeTools,
      startupTimeoutMs: startupMilliseconds,
      toolTimeoutMs: callMilliseconds,
    },
  },
  enforcement: {
    level: 'strict',
    text: 'Only our server: KIMI_CODE_HOME replaces the user’s file, and it is not started where the project or a plugin names servers.',
  },
})
