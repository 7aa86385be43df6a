import { folderFromVariable, joinPath, projectFile, userFile } from '../agent-paths.ts'
import { createAdapter } from '../create-adapter.ts'
import { args, callTimeoutMs, command, env, headers, ignored, oauth, omitWithNote, type, url } from '../entry-keys.ts'
import { BRACED } from '../variable-syntax.ts'

export const claudeCode = createAdapter({
  id: 'claude-code',
  title: 'Claude Code',
  aliases: ['claude'],
  program: 'claude',
  syntax: 'json',
  files: (host) => {
    const path = joinPath(host, folderFromVariable(host, 'CLAUDE_CONFIG_DIR'), '.claude.json')
    return [userFile(path), projectFile(host, '.mcp.json'), { path, scope: 'local', project: host.cwd }]
  },
  serversPath: ({ scope, project = '' }) => (scope === 'local' ? ['projects', project, 'mcpServers'] : ['mcpServers']),
  entries: {
    variables: BRACED,
    keys: {
      type,
      command,
      args,
      env,
      url,
      headers,
      timeout: callTimeoutMs,
      alwaysLoad: ignored,
      headersHelper: omitWithNote('the gateway runs no programs for headers. Put the value into "headers".'),
      oauth,
    },
  },
  results: { maxCharacters: 24_000, maxErrorCharacters: 10_000, clientNames: ['claude-code'] },
  enforcement: {
    level: 'strict',
    text: 'Only our server: --mcp-config with --strict-mcp-config hides those of the user, the project, the folder, of sub-agents and of plugins.',
  },
})
