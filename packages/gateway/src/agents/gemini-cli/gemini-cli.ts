import { folderFromVariable, joinPath, projectFile, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import { GEMINI_ENTRIES } from '../gemini-entries.ts'

export const geminiCli = createAdapter({
  id: 'gemini-cli',
  title: 'Gemini CLI',
  aliases: ['gemini'],
  program: 'gemini',
  syntax: 'json',
  files: (host) => [
    userFile(joinPath(host, folderFromVariable(host, 'GEMINI_CLI_HOME'), '.gemini', 'settings.json')),
    projectFile(host, '.gemini', 'settings.json'),
  ],
  serversPath: () => ['mcpServers'],
  toolFilter: { include: 'includeTools', exclude: 'excludeTools' },
  entries: GEMINI_ENTRIES,
  results: { maxCharacters: 36_000, clientNames: ['gemini-cli-mcp-client'] },
  enforcement: {
    level: 'strict',
    text: 'Only our server: GEMINI_CLI_HOME replaces the user’s settings, --allowed-mcp-server-names the project’s and those of extensions and sub-agents.',
  },
})
