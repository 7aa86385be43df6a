import { folderFromVariable, joinPath, projectFile, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import { args, command, cwd, disabled, env, headers, type, url } from '../entry-keys.ts'
import { BRACED } from '../variable-syntax.ts'

export const droid = createAdapter({
  id: 'droid',
  title: 'Droid',
  aliases: ['factory'],
  program: 'droid',
  syntax: 'json',
  files: (host) => [
    userFile(joinPath(host, folderFromVariable(host, 'FACTORY_HOME_OVERRIDE'), '.factory', 'mcp.json')),
    projectFile(host, '.factory', 'mcp.json'),
  ],
  serversPath: () => ['mcpServers'],
  entries: { variables: BRACED, keys: { type, command, args, env, cwd, url, headers, disabled } },
  results: { clientNames: ['factory-cli'] },
  enforcement: {
    level: 'partial',
    text: 'Our server instead of the user’s: FACTORY_HOME_OVERRIDE. It is not started if the project or a plugin names servers. Those that Factory provides for an organization stay.',
  },
})
