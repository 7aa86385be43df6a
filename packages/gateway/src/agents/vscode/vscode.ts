import { applicationData, joinPath, projectFile, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import { ignored, omitWithNote, SHARED_KEYS } from '../entry-keys.ts'
import { EDITOR } from '../variable-syntax.ts'

export const vscode = createAdapter({
  id: 'vscode',
  title: 'VS Code',
  aliases: ['vs-code', 'code'],
  program: 'code',
  syntax: 'json',
  files: (host) => [
    userFile(joinPath(host, applicationData(host), 'Code', 'User', 'mcp.json')),
    projectFile(host, '.vscode', 'mcp.json'),
  ],
  serversPath: () => ['servers'],
  entries: {
    variables: EDITOR,
    keys: {
      ...SHARED_KEYS,
      envFile: omitWithNote('set these variables where the gateway is started.'),
      dev: ignored,
      gallery: ignored,
      version: ignored,
    },
  },
  results: { maxCharacters: 7_800 },
  enforcement: {
    level: 'none',
    text: 'It cannot be configured for one run: paste the entry of `sallyport connect vscode`, and remove its other servers.',
  },
})
