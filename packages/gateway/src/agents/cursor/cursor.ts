import { inHome, projectFile, userFile } from '../agent-folders.ts'
import { createAdapter } from '../create-adapter.ts'
import { leftOut, oauth, PLAIN_KEYS } from '../entry-keys.ts'
import { EDITOR } from '../variable-syntax.ts'

export const cursor = createAdapter({
  id: 'cursor',
  title: 'Cursor',
  aliases: ['cursor-agent', 'cursor-cli'],
  program: 'cursor-agent',
  syntax: 'json',
  files: (place) => [userFile(inHome(place, '.cursor', 'mcp.json')), projectFile(place, '.cursor', 'mcp.json')],
  serversAt: () => ['mcpServers'],
  entries: {
    variables: EDITOR,
    keys: {
      ...PLAIN_KEYS,
      envFile: leftOut('set these variables where the gateway is started.'),
      auth: oauth,
    },
  },
  enforcement: {
    level: 'none',
    text: 'It has no means for one run: paste the entry of `sallyport connect cursor`, and remove its other servers.',
  },
})
