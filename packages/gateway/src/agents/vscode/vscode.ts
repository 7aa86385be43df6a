import { applicationData, joinPath, projectFile, userFile } from '../agent-folders.ts'
import { createAdapter } from '../create-adapter.ts'
import { leftOut, ownAffair, PLAIN_KEYS } from '../entry-keys.ts'
import { EDITOR } from '../variable-syntax.ts'

export const vscode = createAdapter({
  id: 'vscode',
  title: 'VS Code',
  aliases: ['vs-code', 'code'],
  program: 'code',
  syntax: 'json',
  files: (place) => [
    userFile(joinPath(place, applicationData(place), 'Code', 'User', 'mcp.json')),
    projectFile(place, '.vscode', 'mcp.json'),
  ],
  serversAt: () => ['servers'],
  entries: {
    variables: EDITOR,
    keys: {
      ...PLAIN_KEYS,
      envFile: leftOut('set these variables where the gateway is started.'),
      dev: ownAffair,
      gallery: ownAffair,
      version: ownAffair,
    },
  },
  enforcement: {
    level: 'none',
    text: 'It has no means for one run: paste the entry of `sallyport connect vscode`, and remove its other servers.',
  },
})
