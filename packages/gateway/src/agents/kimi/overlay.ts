import { join } from 'node:path'
import { namedFolder } from '../agent-folders.ts'
import { type AgentOverlay, CALL_PATIENCE_S, START_PATIENCE_S } from '../agent-overlay.ts'
import { byName, createOverlay, folderFrom, settingsWith } from '../overlay-parts.ts'
import { drivenBy, filesWithServers, projectFiles } from '../server-sources.ts'

const FILE = 'mcp.json'

/** A home of its own with everything of the user's linked but the file of the servers. */
export const kimiOverlay: AgentOverlay = {
  reserved: ['--mcp-config', '--mcp-config-file'],
  // They serve clients, which bring servers, or use a process that runs already.
  reservedCommands: ['web', 'server', 'rc', 'remote'],
  stays: ['project'],
  sources: [
    { name: 'file of the user', state: 'closed', means: '`KIMI_CODE_HOME`' },
    projectFiles('`.mcp.json`, `.kimi-code/mcp.json`'),
    {
      name: 'plugins',
      state: 'refused',
      means: '`mcpServers` of an installed plugin',
      find: ({ place }) =>
        filesWithServers(join(namedFolder(place, 'KIMI_CODE_HOME', '.kimi-code'), 'plugins'), {
          key: 'mcpServers',
          files: /\.json$/,
          depth: 6,
        }),
    },
    { name: 'flags', state: 'refused', means: '`--mcp-config`' },
    drivenBy('acp'),
  ],
  entry: (window) => ({
    ...window,
    startupTimeoutMs: START_PATIENCE_S * 1_000,
    toolTimeoutMs: CALL_PATIENCE_S * 1_000,
  }),
  overlay: (request) =>
    createOverlay({
      args: request.args,
      environment: { KIMI_CODE_HOME: join(request.folder, 'home') },
      files: { [`home/${FILE}`]: settingsWith(request, 'mcpServers', byName(request.servers)) },
      mirrors: [{ source: folderFrom(request, 'KIMI_CODE_HOME', '.kimi-code'), path: 'home', except: [FILE] }],
    }),
}
