import { joinPath, namedFolder, projectFile, userFile } from '../agent-folders.ts'
import { createAdapter } from '../create-adapter.ts'
import {
  args,
  callMilliseconds,
  command,
  cwd,
  env,
  headers,
  includeToolsOrAll,
  leftOut,
  type,
  url,
} from '../entry-keys.ts'
import { SHELL_LIKE } from '../variable-syntax.ts'

const OAUTH = leftOut('the gateway does not sign in by OAuth. Put a token into "headers".')

export const copilot = createAdapter({
  id: 'copilot',
  title: 'Copilot CLI',
  aliases: ['copilot-cli', 'github-copilot'],
  program: 'copilot',
  syntax: 'json',
  files: (place) => [
    userFile(joinPath(place, namedFolder(place, 'COPILOT_HOME', '.copilot'), 'mcp-config.json')),
    projectFile(place, '.mcp.json'),
    projectFile(place, '.github', 'mcp.json'),
  ],
  serversAt: () => ['mcpServers'],
  toolFilter: { include: 'tools', all: '*' },
  entries: {
    variables: SHELL_LIKE,
    keys: {
      type,
      command,
      args,
      env,
      cwd,
      url,
      headers,
      tools: includeToolsOrAll,
      timeout: callMilliseconds,
      oauthClientId: OAUTH,
      oauthPublicClient: OAUTH,
    },
  },
  enforcement: {
    level: 'partial',
    text: 'Our server instead of its own: --disable-mcp-server switches off those of the user and the project, --disable-builtin-mcps those of the agent. Those of plugins stay.',
  },
})
