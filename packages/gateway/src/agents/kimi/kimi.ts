import { joinPath, namedFolder, projectFile, userFile } from '../agent-folders.ts'
import { createAdapter } from '../create-adapter.ts'
import {
  args,
  callMilliseconds,
  command,
  cwd,
  disabled,
  enabled,
  env,
  excludeTools,
  headers,
  includeTools,
  startupMilliseconds,
  type,
  url,
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
      type,
      command,
      args,
      env,
      cwd,
      url,
      headers,
      enabled,
      disabled,
      enabledTools: includeTools,
      disabledTools: excludeTools,
      startupTimeoutMs: startupMilliseconds,
      toolTimeoutMs: callMilliseconds,
    },
  },
  enforcement: {
    level: 'partial',
    text: 'Our server instead of the user’s: KIMI_CODE_HOME. Those of the project stay.',
  },
})
