import { homePath, pathFromVariable, projectFile, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import { args, command, env, headers, ignored, includeTools, url } from '../entry-keys.ts'
import { BRACED } from '../variable-syntax.ts'

export const amp = createAdapter({
  id: 'amp',
  title: 'Amp',
  program: 'amp',
  syntax: 'json',
  files: (place) => [
    userFile(pathFromVariable(place, 'AMP_SETTINGS_FILE') ?? homePath(place, '.config', 'amp', 'settings.json')),
    projectFile(place, '.amp', 'settings.json'),
  ],
  // One key with a dot in it, not a path.
  serversPath: () => ['amp.mcpServers'],
  entries: { variables: BRACED, keys: { command, args, env, url, headers, includeTools, transport: ignored } },
  enforcement: {
    level: 'partial',
    text: 'Our server instead of the user’s: --settings-file. It is not started where the workspace or a skill names servers. What Amp’s own service adds stays.',
  },
})
