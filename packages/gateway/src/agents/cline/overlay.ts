import { join } from 'node:path'
import { type AgentOverlay, CALL_TIMEOUT_S } from '../agent-overlay.ts'
import { folderFromVariable } from '../agent-paths.ts'
import { createOverlay, entriesByName, resolveFolder, settingsWithServers } from '../create-overlay.ts'
import { drivingProgramSource, findFilesWithKey, resumedSessionSource, type SourceSearch } from '../server-sources.ts'

const FILE = 'cline_mcp_settings.json'

/** A separate data folder with links to all of the user's files except the one with the servers. */
export const clineOverlay: AgentOverlay = {
  reservedFlags: ['--config', '--data-dir', '--zen', '-z', '--kanban'],
  // They use or start a Cline process that outlives the run.
  reservedCommands: ['hub', 'dashboard', 'connect', 'schedule', 'kanban'],
  remainingScopes: [],
  sources: [
    { name: 'settings of the user', state: 'closed', mechanism: '`--data-dir`' },
    { name: 'variables', state: 'closed', mechanism: '`CLINE_MCP_SETTINGS_PATH` names ours' },
    {
      name: 'a process of its own that runs already',
      state: 'closed',
      mechanism: '`CLINE_SESSION_BACKEND_MODE=local`; `--zen` and `hub` are refused',
    },
    {
      name: 'plugins',
      state: 'refused',
      mechanism:
        '`mcp.json` in `~/.agents/plugins`; `registerMcpServer` in `.cline/plugins` of the user or the project',
      find: findPluginsWithServers,
    },
    resumedSessionSource('--id', '--worktree'),
    { name: 'flags', state: 'refused', mechanism: '`--config`, `--data-dir`' },
    drivingProgramSource('--acp'),
  ],
  createEntry: (window) => ({ ...window, disabled: false, timeout: CALL_TIMEOUT_S }),
  overlay: (request) => {
    const { folder, servers, args } = request
    const data = join(resolveFolder(request, 'CLINE_DIR', '.cline'), 'data')
    return createOverlay({
      args: ['--data-dir', join(folder, 'data'), ...args],
      environment: {
        CLINE_MCP_SETTINGS_PATH: join(folder, 'data/settings', FILE),
        CLINE_SESSION_BACKEND_MODE: 'local',
        CLINE_HUB_ADDRESS: undefined,
      },
      files: { [`data/settings/${FILE}`]: settingsWithServers(request, 'mcpServers', entriesByName(servers)) },
      mirrors: [
        { source: data, path: 'data', except: ['settings'] },
        { source: join(data, 'settings'), path: 'data/settings', except: [FILE] },
      ],
    })
  },
}

/** Plugins define servers in a file, or register them in their code. */
async function findPluginsWithServers({ host, folders }: SourceSearch): Promise<readonly string[]> {
  const codeFolders = [
    join(folderFromVariable(host, 'CLINE_DIR', '.cline'), 'plugins'),
    join(host.home, 'Documents/Cline/Plugins'),
    ...folders.map((folder) => join(folder, '.cline/plugins')),
  ]
  const found = await Promise.all([
    findFilesWithKey(join(host.home, '.agents/plugins'), { key: 'mcpServers', files: /\.json$/, depth: 2 }),
    ...codeFolders.map((folder) =>
      findFilesWithKey(folder, { key: 'registerMcpServer', files: /\.[cm]?[jt]s$/, depth: 6 }),
    ),
  ])
  return found.flat()
}
