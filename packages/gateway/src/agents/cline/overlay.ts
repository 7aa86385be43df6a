import { join } from 'node:path'
import { namedFolder } from '../agent-folders.ts'
import { type AgentOverlay, CALL_PATIENCE_S } from '../agent-overlay.ts'
import { byName, createOverlay, folderFrom, settingsWith } from '../overlay-parts.ts'
import { drivenBy, filesWithServers, otherFolders, type SourceSearch } from '../server-sources.ts'

const FILE = 'cline_mcp_settings.json'

/** A data folder of its own with everything of the user's linked but the file of the servers. */
export const clineOverlay: AgentOverlay = {
  reserved: ['--config', '--data-dir', '--zen', '-z', '--kanban'],
  // They use, or start, a process of Cline's that outlives the run.
  reservedCommands: ['hub', 'dashboard', 'connect', 'schedule', 'kanban'],
  stays: [],
  sources: [
    { name: 'settings of the user', state: 'closed', means: '`--data-dir`' },
    { name: 'variables', state: 'closed', means: '`CLINE_MCP_SETTINGS_PATH` names ours' },
    {
      name: 'a process of its own that runs already',
      state: 'closed',
      means: '`CLINE_SESSION_BACKEND_MODE=local`; `--zen` and `hub` are refused',
    },
    {
      name: 'plugins',
      state: 'refused',
      means: '`mcp.json` in `~/.agents/plugins`; `registerMcpServer` in `.cline/plugins` of the user or the project',
      find: pluginsWithServers,
    },
    otherFolders('--id', '--worktree'),
    { name: 'flags', state: 'refused', means: '`--config`, `--data-dir`' },
    drivenBy('--acp'),
  ],
  entry: (window) => ({ ...window, disabled: false, timeout: CALL_PATIENCE_S }),
  overlay: (request) => {
    const { folder, servers, args } = request
    const data = join(folderFrom(request, 'CLINE_DIR', '.cline'), 'data')
    return createOverlay({
      args: ['--data-dir', join(folder, 'data'), ...args],
      environment: {
        CLINE_MCP_SETTINGS_PATH: join(folder, 'data/settings', FILE),
        CLINE_SESSION_BACKEND_MODE: 'local',
        CLINE_HUB_ADDRESS: undefined,
      },
      files: { [`data/settings/${FILE}`]: settingsWith(request, 'mcpServers', byName(servers)) },
      mirrors: [
        { source: data, path: 'data', except: ['settings'] },
        { source: join(data, 'settings'), path: 'data/settings', except: [FILE] },
      ],
    })
  },
}

/** Plugins name servers in a file, or register them in their code. */
async function pluginsWithServers({ place, folders }: SourceSearch): Promise<readonly string[]> {
  const coded = [
    join(namedFolder(place, 'CLINE_DIR', '.cline'), 'plugins'),
    join(place.home, 'Documents/Cline/Plugins'),
    ...folders.map((folder) => join(folder, '.cline/plugins')),
  ]
  const found = await Promise.all([
    filesWithServers(join(place.home, '.agents/plugins'), { key: 'mcpServers', files: /\.json$/, depth: 2 }),
    ...coded.map((folder) => filesWithServers(folder, { key: 'registerMcpServer', files: /\.[cm]?[jt]s$/, depth: 6 })),
  ])
  return found.flat()
}
