import { homePath, projectFile, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import { oauth, omitWithNote, SHARED_KEYS } from '../entry-keys.ts'
import { EDITOR } from '../variable-syntax.ts'

export const cursor = createAdapter({
  id: 'cursor',
  title: 'Cursor',
  aliases: ['cursor-agent', 'cursor-cli'],
  program: 'cursor-agent',
  syntax: 'json',
  files: (host) => [userFile(homePath(host, '.cursor', 'mcp.json')), projectFile(host, '.cursor', 'mcp.json')],
  serversPath: () => ['mcpServers'],
  entries: {
    variables: EDITOR,
    keys: {
      ...SHARED_KEYS,
      envFile: omitWithNote('set these variables where the gateway is started.'),
      auth: oauth,
    },
  },
  results: { clientNames: ['Cursor'] },
  enforcement: {
    level: 'none',
    text: 'It cannot be configured for one run: paste the entry of `sallyport connect cursor`, and remove its other servers.',
  },
})
