import { applicationData, joinPath, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import { args, command, env, headers, type, url } from '../entry-keys.ts'
import { NO_VARIABLES } from '../variable-syntax.ts'

export const claudeDesktop = createAdapter({
  id: 'claude-desktop',
  title: 'Claude Desktop',
  syntax: 'json',
  files: (host) => [userFile(joinPath(host, applicationData(host), 'Claude', 'claude_desktop_config.json'))],
  serversPath: () => ['mcpServers'],
  entries: { variables: NO_VARIABLES, keys: { type, command, args, env, url, headers } },
  enforcement: {
    level: 'none',
    text: 'It cannot be configured for one run: paste the entry of `sallyport connect claude-desktop`, and remove its others.',
  },
})
