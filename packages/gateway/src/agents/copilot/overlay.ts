import { join } from 'node:path'
import { type AgentOverlay, CALL_PATIENCE_S } from '../agent-overlay.ts'
import { hasFlag } from '../flag-values.ts'
import { byName, createOverlay, unwantedNames } from '../overlay-parts.ts'

const FILE = 'mcp-config.json'
const PLUGINS = 'Servers of plugins of Copilot’s, if it has any, are started besides: they are not governed.'

/** What is added is merged with the user's file, whose other servers are switched off by name. */
export const copilotOverlay: AgentOverlay = {
  reserved: ['--additional-mcp-config', '--disable-mcp-server', '--enable-mcp-server', '--plugin-dir'],
  stays: ['user', 'project', 'local'],
  isAttended: (args) => !hasFlag(args, '-p') && !hasFlag(args, '--prompt'),
  entry: (window) => ({ type: 'local', ...window, tools: ['*'], timeout: CALL_PATIENCE_S * 1_000 }),
  overlay: (request) => {
    const { folder, servers, ours, args } = request
    return createOverlay({
      args: [
        `--additional-mcp-config=@${join(folder, FILE)}`,
        '--disable-builtin-mcps',
        ...unwantedNames(request).map((name) => `--disable-mcp-server=${name}`),
        ...ours.map((name) => `--allow-tool=${name}`),
        ...args,
      ],
      files: { [FILE]: { mcpServers: byName(servers) } },
      notes: ours.length > 0 ? [PLUGINS] : [],
    })
  },
}
