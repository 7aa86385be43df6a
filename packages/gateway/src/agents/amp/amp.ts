import { homePath, pathFromVariable, projectFile, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import { args, command, env, headers, ignored, includeTools, url } from '../entry-keys.ts'
import { BRACED } from '../variable-syntax.ts'

export const amp = createAdapter({
  id: 'amp',
  title: 'Amp',
  program: 'amp',
  syntax: 'json',
  files: (host) => [
    userFile(pathFromVariable(host, 'AMP_SETTINGS_FILE') ?? homePath(host, '.config', 'amp', 'settings.json')),
    projectFile(host, '.amp', 'settings.json'),
  ],
  // One key that contains a dot, not a path.
  serversPath: () => ['amp.mcpServers'],
  entries: { variables: BRACED, keys: { command, args, env, url, headers, includeTools, transport: ignored } },
  results: { clientNames: ['amp-mcp-client'] },
  enforcement: {
    level: 'partial',
    text: 'Our server instead of the user’s: --settings-file. It is not started if the workspace or a skill names servers. What Amp’s own service adds stays.',
  },
})
