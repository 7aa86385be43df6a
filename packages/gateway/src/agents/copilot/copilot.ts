import { folderFromVariable, joinPath, projectFile, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import { callTimeoutMs, includeToolsOrAll, oauth, SHARED_KEYS } from '../entry-keys.ts'
import { SHELL_LIKE } from '../variable-syntax.ts'

export const copilot = createAdapter({
  id: 'copilot',
  title: 'Copilot CLI',
  aliases: ['copilot-cli', 'github-copilot'],
  program: 'copilot',
  syntax: 'json',
  files: (host) => [
    userFile(joinPath(host, folderFromVariable(host, 'COPILOT_HOME', '.copilot'), 'mcp-config.json')),
    projectFile(host, '.mcp.json'),
    projectFile(host, '.github', 'mcp.json'),
  ],
  serversPath: () => ['mcpServers'],
  toolFilter: { include: 'tools', all: '*' },
  entries: {
    variables: SHELL_LIKE,
    keys: {
      ...SHARED_KEYS,
      tools: includeToolsOrAll,
      timeout: callTimeoutMs,
      oauthClientId: oauth,
      oauthPublicClient: oauth,
    },
  },
  results: { maxCharacters: 9_000, needsStructure: false, clientNames: ['copilot-cli'] },
  enforcement: {
    level: 'partial',
    text: 'Our server instead of its own: --disable-mcp-server disables those of the user and the project, --disable-builtin-mcps those of the agent. It is not started if a custom agent or a plugin adds servers. Agents that GitHub provides for an organization are not visible before.',
  },
})
