import { folderFromVariable, joinPath, projectFile, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import { GEMINI_ENTRIES } from '../gemini-entries.ts'

export const qwenCode = createAdapter({
  id: 'qwen-code',
  title: 'Qwen Code',
  aliases: ['qwen'],
  program: 'qwen',
  syntax: 'json',
  files: (host) => [
    userFile(joinPath(host, folderFromVariable(host, 'QWEN_HOME', '.qwen'), 'settings.json')),
    projectFile(host, '.qwen', 'settings.json'),
  ],
  serversPath: () => ['mcpServers'],
  toolFilter: { include: 'includeTools', exclude: 'excludeTools' },
  entries: GEMINI_ENTRIES,
  results: { maxCharacters: 22_000, maxLines: 900, needsStructure: false, clientNames: ['qwen-cli-mcp-client-'] },
  enforcement: {
    level: 'strict',
    text: 'Only our server: --mcp-config with --allowed-mcp-server-names disables all others; it is not started if a sub-agent names servers.',
  },
})
